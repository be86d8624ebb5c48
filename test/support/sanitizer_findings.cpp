// Two mistakes, one for UBSan and one for ASan, which ends the program: what
// sanitizer_options_test.py looks for. Neither is seen when it is compiled.
#include <limits>
#include <memory>

int main(int count, char**) {
  const int too_much = std::numeric_limits<int>::max() + count;
  auto made = std::make_unique<int>(too_much);
  const int* volatile gone = made.get();
  made.reset();
  return *gone;
}
