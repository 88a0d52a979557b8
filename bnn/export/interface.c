/* Mean and standard deviation (UNCERTAINTY) of a fitted estimator, with their gradients, in C99.
   Any number of threads may call these functions at once; a call takes less than 64 kB of stack. */

#include <math.h>

/* Call this once, before the other functions and before threads start. Returns 0, or 1 if rounding
   leaves a matrix without a Cholesky factor. */
int surrogate_init(void);

/* Computes at n points x (n, N_IN) mean and std (n, N_OUT) and their gradients dmean and dstd
   (n, N_OUT, N_IN). Arrays are stored by rows; any of the four may be a null pointer. Returns 0, 1
   without surrogate_init, or 2 if a result is not finite, for example because an input is so far away
   that its distance from the data overflows. */
int surrogate(int n, const double *x, double *mean, double *std, double *dmean, double *dstd);

/* TABLES */
static int ready;

/* Gradients are computed in parts of at most INPUTS inputs and OUTPUTS outputs. */
struct part { int first_input, inputs, first_output, outputs; };
static void point(const double *x, struct part at, double mean[][OUTPUTS], double std[][OUTPUTS]);

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

#if TOTAL
static double clipped(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Adds the noise, of variance exp(2 l(z)), where l is linear in z and its squares, and z is the point
   next to x within the bounds of the noise. */
static void add_noise(const double *x, struct part at, double std[][OUTPUTS])
{
    for (int o = 0; o < at.outputs; o++) {
        int j = at.first_output + o;
        double l = LOG_NOISE[0][j];
        for (int i = 0; i < N_IN; i++) {
            double z = clipped(x[i], NOISE_LOW[i], NOISE_HIGH[i]);
            l += z * (LOG_NOISE[1 + i][j] + z * LOG_NOISE[1 + N_IN + i][j]);
        }
        int constant = l > LARGEST_LOG;
        l = constant ? LARGEST_LOG : l;
        double variance = exp(2.0 * l), total = sqrt(std[0][o] * std[0][o] + variance);
        for (int c = 0; c < at.inputs; c++) {
            int i = at.first_input + c;
            double slope = LOG_NOISE[1 + i][j] + 2.0 * x[i] * LOG_NOISE[1 + N_IN + i][j];
            if (constant || x[i] < NOISE_LOW[i] || x[i] > NOISE_HIGH[i])
                slope = 0.0;
            std[1 + c][o] = (std[0][o] * std[1 + c][o] + variance * slope) / total;
        }
        std[0][o] = total;
    }
}
#endif

int surrogate(int n, const double *x, double *mean, double *std, double *dmean, double *dstd)
{
    double m[1 + INPUTS][OUTPUTS] = {{0.0}}, s[1 + INPUTS][OUTPUTS] = {{0.0}};
    int gradients = dmean || dstd, finite = 1;
    for (long p = 0; ready && p < n; p++)
        for (int j = 0; j < N_OUT; j += OUTPUTS)
            for (int i = 0; i < (gradients ? N_IN : 1); i += INPUTS) {
                struct part at = {i, 0, j, smaller(OUTPUTS, N_OUT - j)};
                if (gradients) at.inputs = smaller(INPUTS, N_IN - i);
                point(x + p * N_IN, at, m, s);
#if TOTAL
                add_noise(x + p * N_IN, at, s);
#endif
                for (int o = 0; o < at.outputs; o++) {
                    long value = p * N_OUT + j + o, slope = value * N_IN + i;
                    if (mean) mean[value] = m[0][o];
                    if (std) std[value] = s[0][o];
                    finite &= (!mean || isfinite(m[0][o])) && (!std || isfinite(s[0][o]));
                    for (int c = 0; c < at.inputs; c++) {
                        if (dmean) dmean[slope + c] = m[1 + c][o];
                        if (dstd) dstd[slope + c] = s[1 + c][o];
                        finite &= !dmean || isfinite(m[1 + c][o]);
                        finite &= !dstd || isfinite(s[1 + c][o]);
                    }
                }
            }
    return !ready ? 1 : finite ? 0 : 2;
}

