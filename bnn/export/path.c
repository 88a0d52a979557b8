/* Stress of an RVE along any strain path, with the tangent of each step, in C99. The RVE has
   INPUTS.
   The stress is a sum over points of the matrix with J2 plasticity, and of an elastic part. The
   functions store nothing between calls and are thread-safe. */

#include <math.h>

/* Numbers in a state, four for each point: its plastic strain xx, yy, xy (of the tensor) and its
   accumulated equivalent plastic strain. All are zero at rest. */
#define surrogate_STATE (4 * POINTS)

/* Returns the number of members: draws from the posterior, each a separate law. */
int surrogate_members(void);

/* Computes one step of a member, 0 to surrogate_members() - 1, or of the posterior mean, -1.
   Follow one member through a simulation, and another in the next one.
     old_state  surrogate_STATE numbers at the beginning of the step, which stay as they are
     strain     xx, yy, xy of the tensor at the end of the step
     new_state  surrogate_STATE numbers at the end of the step; may be the array old_state
     stress     xx, yy, xy at the end of the step [MPa]
     tangent    tangent[3 * i + j], the derivative of stress i with respect to strain j [MPa];
                strain 2 is the engineering shear, 2 xy of the tensor. It is the consistent
                tangent of the step, and symmetric. With respect to xy it is 2 tangent[3 * i + 2].
   new_state, stress and tangent may be null pointers. Returns 0, or 1 and writes nothing if there
   is no such member, a number is not finite or is above 1e100, or an accumulated plastic strain is
   negative. */
int surrogate(int member, const double *old_state, const double strain[3], double *new_state,
              double stress[3], double tangent[9]);

/* TABLES */
struct step {
    double stress[3];    /* deviator xx, yy, xy */
    double direction[3]; /* d, the trial stress over its von Mises stress q */
    double secant, fall; /* of the tangent: 2 mu secant Dev - fall d dT */
    double state[4];
};

int surrogate_members(void)
{
    return MEMBERS;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* Solves b u + 3 mu u^(1/c) = excess for u = p^c, where it is larger than its old value. In u the
   left side is convex and has no infinite slope at rest: Newton steps do not overshoot. */
static double hardened(double excess, double old, double b)
{
    const double inverse = 1.0 / EXPONENT, stiff = 3.0 * SHEAR;
    excess = larger(excess, 0.0);
    /* Neither term exceeds the sum: two upper bounds. The step from the old value is another. */
    double u = lesser(pow(excess / stiff, EXPONENT), excess / larger(b, 1e-300));
    double power = pow(old, inverse - 1.0);
    double first = excess - b * old - stiff * power * old;
    first = old + first / larger(b + stiff * power * inverse, 1e-300);
    if (first > old) u = lesser(u, first);
    for (int i = 0; i < 30; i++) {
        power = pow(u, inverse - 1.0);
        double rest = b * u + stiff * power * u - excess;
        u = larger(u - rest / larger(b + stiff * power * inverse, 1e-300), 0.0);
        if (fabs(rest) <= 1e-14 * excess) break;
    }
    return u;
}

/* The points are that of mean fields, then IMAGES mirror images of each drawn one, which have its
   law and its weight. */
static int drawn(int point)
{
    return (point + IMAGES - 1) / IMAGES;
}

/* The return mapping of a point with a deviatoric strain xx, yy, xy, from its old state. */
static struct step advance(int point, const double deviator[3], const double *old)
{
    const double *law = LAW[drawn(point)], yield = law[0], b = law[1], stiff = 3.0 * SHEAR;
    struct step s;
    double t[3], *d = s.direction;
    for (int i = 0; i < 3; i++)
        t[i] = 2.0 * SHEAR * (deviator[i] - old[i]);
    /* Zero would have no direction. */
    double q = sqrt(3.0 * (t[0] * t[0] + t[1] * t[1] + t[0] * t[1] + t[2] * t[2])) + 1e-150;
    double p = old[3], power = pow(p, EXPONENT), compliance = 0.0;
    /* Rounding does not make a point yield on which the load turns back. */
    if (q > (yield + b * power) * (1.0 + 1e-12)) {
        double u = hardened(q - yield + stiff * p, power, b);
        /* 1 / (3 mu + h') with the slope dp/du, of which h' = b du/dp */
        double slope = pow(u, 1.0 / EXPONENT - 1.0) / EXPONENT;
        compliance = slope / larger(stiff * slope + b, 1e-300);
        p = larger(pow(u, 1.0 / EXPONENT), p);
    }
    double increment = p - old[3];
    for (int i = 0; i < 3; i++) {
        d[i] = t[i] / q;
        s.stress[i] = t[i] - stiff * increment * d[i];
        s.state[i] = old[i] + 1.5 * increment * d[i];
    }
    s.state[3] = p;
    s.secant = 1.0 - stiff * increment / q;
    s.fall = stiff * stiff * (compliance - increment / q);
    return s;
}

/* Adds weight BT (2 mu secant Dev - fall d dT) B to a tangent. */
static void add_tangent(const struct step *s, double weight, const double B[3][3], double C[3][3])
{
    const double *d = s->direction, elastic = 2.0 * SHEAR * s->secant / 3.0;
    for (int j = 0; j < 3; j++) {
        double along = s->fall * (d[0] * B[0][j] + d[1] * B[1][j] + d[2] * B[2][j]);
        double column[] = {elastic * (2.0 * B[0][j] - B[1][j]) - along * d[0],
                           elastic * (2.0 * B[1][j] - B[0][j]) - along * d[1],
                           elastic * 1.5 * B[2][j] - along * d[2]};
        for (int i = 0; i <= j; i++)
            for (int k = 0; k < 3; k++)
                C[i][j] += weight * B[k][i] * column[k];
    }
}

static int admissible(const double *old_state, const double *strain)
{
    for (int i = 0; i < 3; i++)
        if (!(fabs(strain[i]) <= 1e100)) return 0;
    for (int i = 0; i < surrogate_STATE; i++)
        if (!(fabs(old_state[i]) <= 1e100) || (i % 4 == 3 && old_state[i] < 0.0)) return 0;
    return 1;
}

int surrogate(int member, const double *old_state, const double strain[3], double *new_state,
              double stress[3], double tangent[9])
{
    if (member < -1 || member >= MEMBERS || !admissible(old_state, strain)) return 1;
    double E[] = {strain[0], strain[1], 2.0 * strain[2]}, S[3] = {0.0}, C[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            C[i][j] = ELASTIC[1 + member][i][j];
            S[i] += C[i][j] * E[j];
        }
    for (int point = 0; point < POINTS; point++) {
        const double(*B)[3] = LOCAL[point];
        const double weight = WEIGHT[drawn(point)][1 + member];
        double e[3];
        for (int i = 0; i < 3; i++)
            e[i] = B[i][0] * E[0] + B[i][1] * E[1] + B[i][2] * E[2];
        /* The deviator of a strain with engineering shear */
        double deviator[] = {(2.0 * e[0] - e[1]) / 3.0, (2.0 * e[1] - e[0]) / 3.0, 0.5 * e[2]};
        struct step s = advance(point, deviator, old_state + 4 * point);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                S[i] += weight * B[k][i] * s.stress[k];
        for (int i = 0; new_state && i < 4; i++)
            new_state[4 * point + i] = s.state[i];
        if (tangent) add_tangent(&s, weight, B, C);
    }
    for (int i = 0; stress && i < 3; i++)
        stress[i] = S[i];
    for (int i = 0; tangent && i < 9; i++)
        tangent[i] = i / 3 < i % 3 ? C[i / 3][i % 3] : C[i % 3][i / 3];
    return 0;
}
