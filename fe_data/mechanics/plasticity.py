"""J2 plasticity with power-law hardening, sigma_y = a + b p^c, over integration points.

Compiled loops over cells: return map, internal forces, consistent tangent. Small strain, plane
strain; stresses in MPa. Tensors have the components xx, yy, xy (the plastic strain is traceless,
zz = -xx - yy); the dilatation is constant in an element (B-bar).
"""

import math

import numpy as np

from fe_data.sparse.compilation import compiled

_MAX_ITERATIONS = 60
_SMALLEST_INCREMENT = 1e-290  # below it hardening alone takes up the excess stress
_TOLERANCE = 1e-13  # of the yield function, relative to the trial stress
_ROOT = math.sqrt(1.5)

# For functions of arrays: to call them point by point would cost a quarter of the loops' time.
_inlined = compiled(error_model="numpy", inline="always")


@compiled(error_model="numpy")
def plastic_increment(q_trial, p_old, hardening_old, guess, mu, a, b, c):
    """Solve q_trial - 3 mu dp = a + b (p_old + dp)^c for the plastic increment dp > 0.

    The left side minus the right is convex and decreasing in dp. So Newton's method lands left of
    the root from anywhere, and from there approaches it without overshooting. It is slow near the
    infinite slope at p = 0 (c < 1): `_left_of_root` takes the place of a step that is far left.
    Close to the root Halley's method, of third order, saves powers, and so does its error bound,
    which ends the iteration without another look at the residual.

    Args:
        q_trial: Trial von Mises stress, above the yield stress [MPa].
        p_old: Equivalent plastic strain before the increment [-].
        hardening_old: b p_old^c [MPa].
        guess: Where to start; 0 when unknown [-].
        mu: Shear modulus [MPa].
        a: Initial yield stress [MPa].
        b: Hardening coefficient [MPa].
        c: Hardening exponent [-].

    Returns:
        dp [-] and the hardening slope b c p^(c-1) at the end [MPa].
    """
    f = q_trial - a - hardening_old
    if b == 0.0:
        return f / (3.0 * mu), 0.0
    dp = guess if guess > 0.0 else _left_of_root(f, p_old, hardening_old, mu, b, c)
    for _ in range(_MAX_ITERATIONS):
        if dp < _SMALLEST_INCREMENT:
            return 0.0, np.inf
        p = p_old + dp
        hardening = b * p**c
        excess = q_trial - 3.0 * mu * dp - a - hardening
        per_p = 1.0 / p
        slope = c * hardening * per_p
        stiff = 3.0 * mu + slope
        if abs(excess) <= _TOLERANCE * q_trial:
            return dp + excess / stiff, slope
        per_stiff = 1.0 / stiff
        before, step = dp, excess * per_stiff
        x = step * per_p
        bend = (1.0 - c) * slope * per_p * per_stiff  # second over first derivative
        if abs(bend * step) < 0.1 and abs(x) < 0.1:
            step /= 1.0 - 0.5 * bend * step
            dp += step
            x = step * per_p
            third = bend * (0.25 * bend + (2.0 - c) / 6.0 * per_p)
            left = third * abs(step * step * step) * stiff
            if left <= 0.1 * _TOLERANCE * q_trial and abs(x) < 1e-3:
                return dp, slope * (1.0 + (c - 1.0) * x * (1.0 + 0.5 * (c - 2.0) * x))
        else:
            dp += step
        if abs(dp - before) <= 1e-15 * dp:
            break
        if not 0.25 * before < dp < 4.0 * before:
            dp = max(dp, _left_of_root(f, p_old, hardening_old, mu, b, c))
    return dp, slope


@compiled(error_model="numpy")
def _left_of_root(f, p_old, hardening_old, mu, b, c):
    """Return an increment below the root: it splits the excess stress f in halves.

    Neither elastic relief 3 mu dp nor hardening uses more than f / 2 there.
    """
    relief = f / (6.0 * mu)
    if p_old == 0.0:
        # An increment too small to store hardens all the same: p is 0, the hardening is not.
        return min(relief, ((hardening_old + 0.5 * f) / b) ** (1.0 / c))
    by_hardening = ((hardening_old + 0.5 * f) / b) ** (1.0 / c) - p_old
    first = f / (3.0 * mu + c * hardening_old / p_old)
    return max(min(relief, by_hardening), first)


@compiled(error_model="numpy")
def update(
    u, macro, dofs, gradients, weights, dilatation, root_area,
    law, ep_old, p_old, hardening_old, ep, p, hardening, increment, tangent, force, sums,
):  # fmt: skip
    """Return map and internal force of all cells.

    Args:
        u: (n_dofs,) periodic displacement fluctuation.
        macro: (3,) macro strain xx, yy, engineering xy.
        dofs: (m, 12), see `discretisation.Elements` for this and the next four.
        gradients: (m, q, 6, 2).
        weights: (m, q).
        dilatation: (m, r, 12).
        root_area: (m,).
        law: mu, kappa, a, b, c [MPa, -].
        ep_old: (m, q, 3) plastic strain xx, yy, xy at the start of the step [-].
        p_old: (m, q) its equivalent, accumulated [-].
        hardening_old: (m, q) b p_old^c [MPa].
        ep: The plastic strain at the end (output).
        p: Its equivalent at the end (output).
        hardening: b p^c at the end (output).
        increment: (m, q) last plastic increment, where the next return map starts (in and out).
        tangent: (m, q, 6) in-plane deviatoric tangent 00, 01, 02, 11, 12, 22 (output) [MPa].
        force: (n_dofs,) internal force (added to).
        sums: (8,) integrals of stress xx, yy, zz, xy, of plastic strain xx, yy, xy and of the
            yielded volume (added to).
    """
    mu, kappa, a, b, c = law
    x = np.empty(12)
    f = np.empty(12)
    for m in range(dofs.shape[0]):
        for i in range(12):
            x[i] = u[dofs[m, i]]
        f[:] = 0.0
        _add_pressure(m, x, macro, dilatation, root_area, kappa, f, sums)
        for q in range(weights.shape[1]):
            w = weights[m, q]
            exx, eyy, gxy = macro[0], macro[1], macro[2]
            for i in range(6):
                gx, gy = gradients[m, q, i, 0], gradients[m, q, i, 1]
                exx += gx * x[2 * i]
                eyy += gy * x[2 * i + 1]
                gxy += gy * x[2 * i] + gx * x[2 * i + 1]
            third = (exx + eyy) / 3.0
            sxx = 2.0 * mu * (exx - third - ep_old[m, q, 0])
            syy = 2.0 * mu * (eyy - third - ep_old[m, q, 1])
            sxy = 2.0 * mu * (0.5 * gxy - ep_old[m, q, 2])
            p_start, start = p_old[m, q], hardening_old[m, q]
            dp, end, scale, drop, nxx, nyy, nxy = _return_map(
                sxx, syy, sxy, p_start, start, increment[m, q], mu, a, b, c
            )
            if dp > 0.0:
                increment[m, q] = dp
            ep[m, q, 0] = ep_old[m, q, 0] + _ROOT * dp * nxx
            ep[m, q, 1] = ep_old[m, q, 1] + _ROOT * dp * nyy
            ep[m, q, 2] = ep_old[m, q, 2] + _ROOT * dp * nxy
            p[m, q] = p_start + dp
            hardening[m, q] = end
            entries = _tangent(2.0 * mu * scale, 2.0 * mu * drop, nxx, nyy, nxy)
            for i in range(6):
                tangent[m, q, i] = entries[i]
            sxx, syy, sxy = w * scale * sxx, w * scale * syy, w * scale * sxy
            for i in range(6):
                gx, gy = gradients[m, q, i, 0], gradients[m, q, i, 1]
                f[2 * i] += gx * sxx + gy * sxy
                f[2 * i + 1] += gy * syy + gx * sxy
            sums[0] += sxx
            sums[1] += syy
            sums[2] -= sxx + syy
            sums[3] += sxy
            sums[4] += w * ep[m, q, 0]
            sums[5] += w * ep[m, q, 1]
            sums[6] += w * ep[m, q, 2]
            if p[m, q] > 0.0:
                sums[7] += w
        for i in range(12):
            force[dofs[m, i]] += f[i]


@_inlined
def _add_pressure(m, x, macro, dilatation, root_area, kappa, f, sums):
    """Add what the dilatation of cell m does to its force f and to the integrals."""
    for r in range(dilatation.shape[1]):
        theta = root_area[m] * (macro[0] + macro[1]) if r == 0 else 0.0
        for i in range(12):
            theta += dilatation[m, r, i] * x[i]
        for i in range(12):
            f[i] += kappa * theta * dilatation[m, r, i]
        if r == 0:
            volumetric = kappa * theta * root_area[m]
            sums[0] += volumetric
            sums[1] += volumetric
            sums[2] += volumetric


@compiled(error_model="numpy")
def _return_map(sxx, syy, sxy, p_old, hardening_old, guess, mu, a, b, c):
    """Bring the deviatoric trial stress xx, yy, xy of a point back to the yield surface.

    The other arguments are those of `plastic_increment`. Returned are dp, b p^c, the factor on the
    trial stress, the further drop of the tangent along the flow direction, over 2 mu, and that
    direction xx, yy, xy, which is zero without yielding.
    """
    norm = math.sqrt(2.0 * (sxx * sxx + syy * syy + sxx * syy + sxy * sxy))
    q_trial = _ROOT * norm
    if not q_trial > a + hardening_old:  # NaN goes on as it is
        return 0.0, hardening_old, 1.0, 0.0, 0.0, 0.0, 0.0
    dp, slope = plastic_increment(q_trial, p_old, hardening_old, guess, mu, a, b, c)
    scale = 1.0 - 3.0 * mu * dp / q_trial
    drop = 3.0 * mu / (3.0 * mu + slope) - (1.0 - scale)
    return dp, q_trial - 3.0 * mu * dp - a, scale, drop, sxx / norm, syy / norm, sxy / norm


@compiled(error_model="numpy")
def _tangent(elastic, plastic, nxx, nyy, nxy):
    """Return elastic times the deviatoric projection minus plastic n n: 00, 01, 02, 11, 12, 22."""
    return (
        elastic * (2.0 / 3.0) - plastic * nxx * nxx,
        -elastic / 3.0 - plastic * nxx * nyy,
        -plastic * nxx * nxy,
        elastic * (2.0 / 3.0) - plastic * nyy * nyy,
        -plastic * nyy * nxy,
        elastic * 0.5 - plastic * nxy * nxy,
    )


@compiled(error_model="numpy")
def stiffness(
    dofs, gradients, weights, dilatation, root_area, kappa, tangent,
    slots, values, border, macro_stiffness,
):  # fmt: skip
    """Assemble the consistent stiffness of all cells, bordered by the macro strain.

    Args:
        dofs: (m, 12), see `discretisation.Elements` for this and the next four.
        gradients: (m, q, 6, 2).
        weights: (m, q).
        dilatation: (m, r, 12).
        root_area: (m,).
        kappa: Bulk modulus [MPa].
        tangent: (m, q, 6) in-plane deviatoric tangent [MPa].
        slots: (m, 78) positions in `values` of each cell's upper triangle, row by row.
        values: Stored entries of the sparse stiffness (added to).
        border: (n_dofs, 3) derivative of the force by the macro strain (added to).
        macro_stiffness: (3, 3) derivative of the macro stress by the macro strain (added to).
    """
    k = np.empty((15, 15))  # upper triangle; dofs, then macro strain xx, yy, xy
    db = np.empty((12, 3))
    for m in range(dofs.shape[0]):
        k[:] = 0.0
        _add_bulk(m, dilatation, root_area, kappa, k)
        for q in range(weights.shape[1]):
            _add_shear(m, q, weights[m, q], gradients, tangent, db, k)
        _scatter(m, k, dofs, slots, values, border, macro_stiffness)


@_inlined
def _add_bulk(m, dilatation, root_area, kappa, k):
    """Add the volumetric part of cell m."""
    for r in range(dilatation.shape[1]):
        for i in range(12):
            gi = kappa * dilatation[m, r, i]
            for j in range(i, 12):
                k[i, j] += gi * dilatation[m, r, j]
            if r == 0:
                k[i, 12] += gi * root_area[m]
                k[i, 13] += gi * root_area[m]
    bulk = kappa * root_area[m] * root_area[m]
    k[12, 12] += bulk
    k[12, 13] += bulk
    k[13, 13] += bulk


@_inlined
def _add_shear(m, q, w, gradients, tangent, db, k):
    """Add the deviatoric part of one point; db is room for its tangent times gradients."""
    d00, d01, d02 = w * tangent[m, q, 0], w * tangent[m, q, 1], w * tangent[m, q, 2]
    d11, d12, d22 = w * tangent[m, q, 3], w * tangent[m, q, 4], w * tangent[m, q, 5]
    for i in range(6):
        gx, gy = gradients[m, q, i, 0], gradients[m, q, i, 1]
        db[2 * i, 0] = d00 * gx + d02 * gy
        db[2 * i, 1] = d01 * gx + d12 * gy
        db[2 * i, 2] = d02 * gx + d22 * gy
        db[2 * i + 1, 0] = d01 * gy + d02 * gx
        db[2 * i + 1, 1] = d11 * gy + d12 * gx
        db[2 * i + 1, 2] = d12 * gy + d22 * gx
    for i in range(6):
        gx, gy = gradients[m, q, i, 0], gradients[m, q, i, 1]
        for j in range(2 * i, 12):
            k[2 * i, j] += gx * db[j, 0] + gy * db[j, 2]
            k[2 * i + 1, j] += gy * db[j, 1] + gx * db[j, 2]
    for i in range(12):
        for j in range(3):
            k[i, 12 + j] += db[i, j]
    k[12, 12] += d00
    k[12, 13] += d01
    k[12, 14] += d02
    k[13, 13] += d11
    k[13, 14] += d12
    k[14, 14] += d22


@_inlined
def _scatter(m, k, dofs, slots, values, border, macro_stiffness):
    """Add the matrix of cell m to those of the whole."""
    slot = 0
    for i in range(12):
        for j in range(i, 12):
            values[slots[m, slot]] += k[i, j]
            slot += 1
        for j in range(3):
            border[dofs[m, i], j] += k[i, 12 + j]
    for i in range(3):
        macro_stiffness[i, i] += k[12 + i, 12 + i]
        for j in range(i + 1, 3):
            macro_stiffness[i, j] += k[12 + i, 12 + j]
            macro_stiffness[j, i] += k[12 + i, 12 + j]
