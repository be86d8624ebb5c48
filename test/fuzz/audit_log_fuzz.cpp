// Audit logs: whatever a file holds, reading it ends, in findings or none; what was sealed and is
// given as it is has none, and with whatever is put behind or between its lines it has some.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/audit/verify.hpp"

namespace {

using namespace nomad::audit;

void check(bool holds) {
  if (!holds) std::abort();
}

std::uint64_t findings_in(std::string_view text) {
  Verifier verifier;
  verifier.begin_file("log");
  verifier.feed(text.substr(0, text.size() / 3));
  verifier.feed(text.substr(text.size() / 3));
  verifier.end_file();
  check(verifier.findings().size() <= verifier.found());
  return verifier.found();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  static_cast<void>(findings_in(text));
  static_cast<void>(read_tail(text));
  static_cast<void>(first_number_in(text));

  Link last;
  std::string log;
  for (int i = 0; i < 3; ++i) {
    std::string event{"{\"a\":\""};
    for (const char each : text.substr(0, 64))
      if (each != '\n') event += each;
    log += seal(event, last) + '\n';
  }
  check(findings_in(log) == 0);
  check(read_tail(log).last == last);
  if (!text.empty() && !read_link(text.substr(0, text.find('\n'))))
    check(findings_in(log + std::string{text}) > 0);
  return 0;
}
