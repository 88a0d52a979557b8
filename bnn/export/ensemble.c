/* Mean and standard deviation over K networks, each evaluated forwards with its derivatives. */

static float weights[K * WEIGHTS]; /* by layer: kernel (n_in, n_out) by rows, bias */

int surrogate_init(void)
{
    for (long i = 0; i < (long)K * WEIGHTS; i++) {
        /* Five digits of base 85 are the bits of one number in single precision. */
        union { unsigned int bits; float value; } weight = {0};
        for (int d = 0; d < 5; d++) {
            int c = TEXT[i / ROW][5 * (i % ROW) + d];
            weight.bits = 85u * weight.bits + (unsigned int)(c - '#' - (c > '?') - (c > '\\'));
        }
        weights[i] = weight.value;
    }
    ready = 1;
    return 0;
}

/* Network k at x: values[0] are outputs of a part, values[1 + c] derivatives by its input c. */
static void member(int k, const double *x, struct part at, double values[][OUTPUTS])
{
    double a[1 + INPUTS][WIDEST], z[1 + INPUTS][WIDEST] = {{0.0}};
    const float *w = weights + (long)k * WEIGHTS;
    int columns = 1 + at.inputs;
    for (int i = 0; i < N_IN; i++) {
        a[0][i] = (x[i] - IN_CENTRE[i]) / IN_HALF[i];
        for (int c = 1; c < columns; c++)
            a[c][i] = at.first_input + c - 1 == i ? 1.0 / IN_HALF[i] : 0.0;
    }
    for (int l = 0; l < LAYERS; l++) {
        int n = WIDTHS[l], m = WIDTHS[l + 1], last = l + 1 == LAYERS;
        int first = last ? at.first_output : 0, units = last ? at.outputs : m;
        for (int c = 0; c < columns; c++) {
            for (int j = 0; j < units; j++)
                z[c][j] = c == 0 ? w[n * m + first + j] : 0.0;
            for (int i = 0; i < n; i++)
                for (int j = 0; j < units; j++)
                    z[c][j] += a[c][i] * w[i * m + first + j];
        }
        for (int j = 0; j < units; j++) {
            double v = z[0][j], slope = last ? 1.0 : SLOPE(v);
            a[0][j] = last ? v : VALUE(v);
            for (int c = 1; c < columns; c++)
                a[c][j] = slope * z[c][j];
        }
        w += (n + 1) * m;
    }
    for (int o = 0; o < at.outputs; o++) {
        int j = at.first_output + o;
        double v = a[0][o] * OUT_HALF[j] + OUT_CENTRE[j];
        int inside = v >= LOW[j] && v <= HIGH[j];
        values[0][o] = v < LOW[j] ? LOW[j] : v > HIGH[j] ? HIGH[j] : v;
        for (int c = 1; c < columns; c++)
            values[c][o] = inside ? a[c][o] * OUT_HALF[j] : 0.0;
    }
}

/* Values of each network, (K, n, N_OUT). Returns 0, 1 without surrogate_init, or 2 if a value is not
   finite. */
int surrogate_members(int n, const double *x, double *values)
{
    int finite = 1;
    for (int k = 0; ready && k < K; k++)
        for (int p = 0; p < n; p++)
            for (int j = 0; j < N_OUT; j += OUTPUTS) {
                struct part at = {0, 0, j, smaller(OUTPUTS, N_OUT - j)};
                double *first = values + ((long)k * n + p) * N_OUT + j;
                member(k, x + (long)p * N_IN, at, (double(*)[OUTPUTS])first);
                for (int o = 0; o < at.outputs; o++)
                    finite &= isfinite(first[o]) != 0;
            }
    return !ready ? 1 : finite ? 0 : 2;
}

static void point(const double *x, struct part at, double mean[][OUTPUTS], double std[][OUTPUTS])
{
    double f[K][1 + INPUTS][OUTPUTS];
    for (int k = 0; k < K; k++)
        member(k, x, at, f[k]);
    for (int j = 0; j < at.outputs; j++)
        for (int c = 0; c < 1 + at.inputs; c++) {
            double sum = 0.0, product = 0.0;
            for (int k = 0; k < K; k++)
                sum += f[k][c][j];
            mean[c][j] = sum / K;
            for (int k = 0; k < K; k++)
                product += (f[k][0][j] - mean[0][j]) * (f[k][c][j] - mean[c][j]);
            product /= K - 1;
            std[c][j] = c == 0 ? sqrt(product) : std[0][j] > 0.0 ? product / std[0][j] : 0.0;
        }
}
