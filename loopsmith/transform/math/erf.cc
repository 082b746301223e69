// SPDX-License-Identifier: Apache-2.0
// erf: x (1 + p(x^2)) near zero, elsewhere 1 - exp(-q(|x|)) with a polynomial q for -log(erfc).
#include "loopsmith/transform/math/functions.h"
#include "loopsmith/transform/math/kernels.h"

namespace loopsmith::math {
namespace {

// erf(x) / x - 1 in x^2 for |x| <= 0.93: 2^-30, 2^-56.
constexpr double small_float[] = {0.128379166,   -0.376126289,    0.112836257,   -0.0268557314,
                                  0.00519240508, -0.000804976968, 7.99664995e-05};
constexpr double small_double[] = {
    0.12837916709551256,     -0.37612638903183321,    0.11283791670934948,
    -0.026866170641432641,   0.0052239775904433837,   -0.00085483250746384886,
    0.00012055264510303147,  -1.4924077378289145e-05, 1.643822352171265e-06,
    -1.6128734741808016e-07, 1.332936021572507e-08,   -6.9692992332509892e-10};

// -log(erfc(x)) on [0.92, 3.95], and in x - 1 on [0.92, 5.95], weighted for the error of erf:
// 2^-29, 2^-58.
constexpr double large_float[] = {0.000207106699, 1.1276269,     0.637266755,    0.103855386,
                                  -0.0221892651,  0.00303355977, -0.000194933265};
constexpr double large_double[] = {
    1.8496055099332482,      2.6389675142347913,      0.84310725635848571,
    0.041561098046559622,    -0.010033825434589326,   0.0019779030191540833,
    -0.0002373246705267696,  -2.6270599229489641e-05, 2.7141890923154475e-05,
    -9.579095771180636e-06,  2.0213841039186253e-06,  -1.056851096549947e-07,
    -1.2477015745613586e-07, 6.7068213207324648e-08,  -2.1116381679899018e-08,
    4.7451357607676746e-09,  -7.7382524839391866e-10, 8.7567741401839465e-11,
    -6.1563828898816349e-12, 2.0219923336366192e-13};

}  // namespace

Expr lower_erf(const Expr& x) {
  const Expr a = fabs(x);
  const Expr small = fma(polynomial(x * x, small_float, small_double), x, x);
  // From the upper bound on, the result rounds to 1.
  const double top = pick(x, 4, 6);
  const Expr bounded = select(a > top, top, a);
  const Expr q =
      is_double(x) ? polynomial(bounded - 1.0, large_double) : polynomial(bounded, large_float);
  const auto [p, k] = exp_parts(q * -1.0);
  const Expr large = copysign(1.0 - p * power_of_two(k), x);
  return select(a < 0.925, small, select(a == a, large, x));
}

}  // namespace loopsmith::math
