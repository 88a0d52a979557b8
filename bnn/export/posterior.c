/* Gaussian processes given N data, mixed by SHARES, after Rasmussen & Williams (2006), section 2.7.

   The linear part of a kernel has a much larger variance than the data, and k(x, x) - k K^-1 k
   would be the small difference of large numbers. Therefore each coefficient of the linear part has
   a row of its own below those of the data, with a negative pivot:
   M = [[A, H], [H^T, -I]] = L D L^T with D = diag(I, -I). A is the covariance of the stationary
   part and the noise, and H the linear basis at the data times the standard deviations of the
   coefficients.

   Process p has the kernel sum_t k_t(z, z') + linear(z, z') of the numbers PARTS[p]: its TERMS
   stationary terms, its linear part, and the warps of its coordinates z(x). */

#define ROWS (N + 1 + SIDES * N_IN)
#define SIGN(i) ((i) < N ? 1.0 : -1.0)
#define LINEAR_OF(p) LINEAR[PARTS[p][TERMS]]
#define WARPS_OF(p) PARTS[p][TERMS + 1]
static double places[N_WARPS][N][N_IN]; /* z of the data */
static double roots[S * N_OUT][(long)ROWS * (ROWS + 1) / 2]; /* L by rows */
static double solved[S * N_OUT][ROWS];

/* phi and dphi / dq of a correlation at q = r^2, by the kind of kernel; zero of a term that pads. */
static double correlation(int kind, const double *parameters, double q, double *by_q)
{
    double phi = 0.0, slope = 0.0;
    switch (kind) {
/* CORRELATIONS */
    default:
        break;
    }
    (void)parameters, (void)q;
    *by_q = slope;
    return phi;
}

/* Coordinates z = w (I + C) with w(u) = log(1 + (e^l - 1) u) / l and u = (x - low) / width; outside
   [0, 1] w goes on as a straight line, and l = 0 stands for w = u. Also dw_c / dx_c. */
static void coordinates(int warps, const double *x, double *z, double *slopes)
{
    for (int c = 0; c < N_IN; c++)
        z[c] = 0.0;
    for (int c = 0; c < N_IN; c++) {
        const double *warp = WARPS[warps][c], l = warp[2], growth = expm1(l);
        double u = (x[c] - warp[0]) / warp[1], inside = u < 0.0 ? 0.0 : u > 1.0 ? 1.0 : u;
        double dw = l == 0.0 ? 1.0 : growth / l / (1.0 + growth * inside);
        double w = l == 0.0 ? u : log1p(growth * inside) / l + (u - inside) * dw;
        slopes[c] = dw / warp[1];
        z[c] += w;
        for (int i = 0; i < MIXED; i++)
            z[i] += w * warp[3 + i];
    }
}

/* z_c less the origin of the linear functions, clipped to their reach. */
static double from_origin(const double *linear, int c, const double *z)
{
    double reach = linear[1 + 2 * N_IN + c], away = z[c] - linear[1 + N_IN + c];
    return away < -reach ? -reach : away > reach ? reach : away;
}

/* Function i of the linear basis except the constant, times a standard deviation: z_c less the origin;
   if SIDES is at least 3, h^2 / 2 e for its part h beyond the upper or the lower end e; if SIDES is 4,
   what lies beyond the reach. Also its derivative by z_c. */
static double linear_function(const double *linear, int i, const double *z, double *by_z)
{
    int c = i % N_IN, side = i / N_IN;
    double away = from_origin(linear, c, z), end = linear[1 + 4 * N_IN + c];
    double deviation = linear[side % 3 == 0 ? 1 + c : 1 + 3 * N_IN + c];
    int inside = fabs(z[c] - linear[1 + N_IN + c]) <= linear[1 + 2 * N_IN + c];
    if (side == 3) {
        *by_z = inside ? 0.0 : deviation;
        return deviation * (z[c] - linear[1 + N_IN + c] - away);
    }
    if (side > 0) {
        int beyond = side == 1 ? away > end : away < -end;
        away = beyond ? away + (side == 1 ? -end : end) : 0.0;
        *by_z = inside && beyond ? deviation * (away / end) : 0.0;
        return beyond ? deviation * away * (away / (2.0 * end)) : 0.0;
    }
    *by_z = inside ? deviation : 0.0;
    return deviation * away;
}

/* Entry i of process p at z: its covariance with datum i, or a function of the linear basis. Also
   the derivatives of the stationary terms by half of their r^2. */
static double entry(int p, int i, const double *z, double *slopes)
{
    double sum = 0.0, by_z;
    if (i >= N)
        return i == N ? LINEAR_OF(p)[0] : linear_function(LINEAR_OF(p), i - N - 1, z, &by_z);
    for (int t = 0; t < TERMS; t++) {
        const double *kernel = STATIONARY[PARTS[p][t]], *inverse = kernel + 2;
        double q = 0.0;
        for (int c = 0; c < N_IN; c++) {
            double away = (z[c] - places[WARPS_OF(p)][i][c]) * inverse[c];
            q += away * away;
        }
        sum += kernel[1] * correlation((int)kernel[0], inverse + N_IN, q, &slopes[t]);
        slopes[t] *= 2.0 * kernel[1];
    }
    return sum;
}

/* Derivative of this entry by z_c. */
static double derivative(int p, int i, const double *z, const double *slopes, int c)
{
    double sum = 0.0;
    if (i >= N) {
        if (i > N && (i - N - 1) % N_IN == c)
            linear_function(LINEAR_OF(p), i - N - 1, z, &sum);
        return sum;
    }
    for (int t = 0; t < TERMS; t++) {
        double inverse = STATIONARY[PARTS[p][t]][2 + c];
        sum += slopes[t] * (z[c] - places[WARPS_OF(p)][i][c]) * inverse * inverse;
    }
    return sum;
}

/* Replace v by L^-1 v, or by L^-T D v. */
static void forwards(const double *L, double *v)
{
    for (int i = 0; i < ROWS; L += ++i) {
        for (int k = 0; k < i; k++)
            v[i] -= L[k] * v[k];
        v[i] /= L[i];
    }
}

static void backwards(const double *L, double *v)
{
    for (int i = N; i < ROWS; i++)
        v[i] = -v[i];
    L += (long)ROWS * (ROWS - 1) / 2;
    for (int i = ROWS - 1; i >= 0; L -= i--) {
        v[i] /= L[i];
        for (int k = 0; k < i; k++)
            v[k] -= L[k] * v[i];
    }
}

int surrogate_init(void)
{
    double slopes[TERMS], dw[N_IN];
    for (int k = 0; k < N_WARPS; k++)
        for (int i = 0; i < N; i++)
            coordinates(k, X[i], places[k][i], dw);
    for (int p = 0; p < S * N_OUT; p++) {
        double *Li = roots[p], *v = solved[p];
        for (int i = 0; i < ROWS; Li += ++i) {
            const double *Lj = roots[p];
            for (int j = 0; j <= i; Lj += ++j) {
                double sum = i == j ? -1.0 : 0.0;
                if (j < N)
                    sum = entry(p, i, places[WARPS_OF(p)][j], slopes);
                if (i == j && i < N)
                    sum += NOISE[i][p % N_OUT];
                for (int k = 0; k < j; k++)
                    sum -= SIGN(k) * Li[k] * Lj[k];
                sum *= SIGN(j);
                if (i == j && !(sum > 0.0))
                    return 1;
                Li[j] = i == j ? sqrt(sum) : sum / Lj[j];
            }
            v[i] = i < N ? RESIDUAL[i][p % N_OUT] : 0.0;
        }
        forwards(roots[p], v);
        backwards(roots[p], v);
    }
    ready = 1;
    return 0;
}

/* Mean and variance of process p at x, each followed by its derivatives by the inputs of a part. */
static void process(int p, const double *x, const struct part *at, double *mean, double *variance)
{
    double v[ROWS], slopes[ROWS][TERMS], z[N_IN], dw[N_IN], dmean[N_IN], dvariance[N_IN];
    coordinates(WARPS_OF(p), x, z, dw);
    mean[0] = variance[0] = 0.0;
    for (int t = 0; t < TERMS; t++)
        variance[0] += STATIONARY[PARTS[p][t]][1];
    for (int i = 0; i < ROWS; i++) {
        v[i] = entry(p, i, z, slopes[i]);
        mean[0] += v[i] * solved[p][i];
    }
    forwards(roots[p], v);
    for (int i = 0; i < ROWS; i++)
        variance[0] -= SIGN(i) * v[i] * v[i];
    if (at->inputs == 0)
        return;
    backwards(roots[p], v);
    for (int c = 0; c < N_IN; c++) { /* by z */
        dmean[c] = dvariance[c] = 0.0;
        for (int i = 0; i < ROWS; i++) {
            double dk = derivative(p, i, z, slopes[i], c);
            dmean[c] += dk * solved[p][i];
            dvariance[c] -= 2.0 * v[i] * dk;
        }
    }
    for (int o = 0; o < at->inputs; o++) { /* by x: dz_i / dx_c = dw_c / dx_c (I + C)_ci */
        int c = at->first_input + o;
        double m = dmean[c], s = dvariance[c];
        for (int i = 0; i < MIXED; i++) {
            m += WARPS[WARPS_OF(p)][c][3 + i] * dmean[i];
            s += WARPS[WARPS_OF(p)][c][3 + i] * dvariance[i];
        }
        mean[1 + o] = dw[c] * m;
        variance[1 + o] = dw[c] * s;
    }
}

static void point(const double *x, struct part at, double mean[][OUTPUTS], double std[][OUTPUTS])
{
    int columns = 1 + at.inputs;
    for (int o = 0; o < at.outputs; o++) {
        int j = at.first_output + o;
        double m[S][1 + INPUTS], variance[S][1 + INPUTS], total[1 + INPUTS] = {0};
        double trend = INTERCEPT[j];
        for (int s = 0; s < S; s++) {
            process(s * N_OUT + j, x, &at, m[s], variance[s]);
            for (int c = 0; c < columns; c++)
                total[c] += SHARES[s][j] * m[s][c];
        }
        for (int c = 0; c < columns; c++) {
            double sum = 0.0;
            for (int s = 0; s < S; s++)
                sum += SHARES[s][j] * (variance[s][c]
                     + (c == 0 ? 1.0 : 2.0) * (m[s][0] - total[0]) * (m[s][c] - total[c]));
            std[c][o] = c == 0 ? sqrt(sum > 0.0 ? sum : 0.0)
                      : std[0][o] > 0.0 ? 0.5 * sum / std[0][o] : 0.0;
            mean[c][o] = total[c] + (c == 0 ? 0.0 : SLOPES[j][at.first_input + c - 1]);
        }
        for (int i = 0; i < N_IN; i++)
            trend += SLOPES[j][i] * x[i];
        mean[0][o] += trend;
    }
}
