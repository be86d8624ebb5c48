// operator audit verify: what it says of whole, cut and emptied files, and its exit code.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "runtime/audit/chain.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/cli/capture.hpp"

using namespace nomad;

namespace {

struct AuditFiles {
  test::TempDir directory;
  audit::Link last;
  std::vector<std::string> lines;

  void seal(int count) {
    for (int i = 0; i < count; ++i)
      lines.push_back(audit::seal("{\"n\":1", last));
  }

  /// The lines from `begin` on, as a file.
  std::string file(std::size_t begin) const {
    const auto path = directory.path() + "/audit-" + std::to_string(begin) + ".log";
    std::ofstream out{path};
    for (std::size_t i = begin; i < lines.size(); ++i)
      out << lines[i] << '\n';
    return path;
  }

  /// The exit code and what was printed.
  static std::string verify(const std::vector<std::string>& words) {
    const test::Capture printed;
    const auto code = cli::run_audit_verify(words);
    return std::to_string(code.value_or(-1)) + ' ' + printed.out();
  }
};

}  // namespace

TEST_CASE_FIXTURE(AuditFiles,
                  "operator audit verify: whole files are so, and what comes before is said") {
  seal(4);
  const auto hash = last.hash;
  CHECK(verify({file(0)})
        == "0 4 lines are as they were written, from number 1 to number 4\nNewest hash: " + hash
               + '\n');
  CHECK(verify({file(2)})
        == "0 No file has what is before line number 3: it was removed with old files, or cut off\n"
           "2 lines are as they were written, from number 3 to number 4\nNewest hash: "
               + hash + '\n');
  CHECK(verify({"-known-hash", hash, file(0)}).starts_with("0 "));
  CHECK(verify({"-known-hash", std::string(64, 'a'), file(0)})
            .starts_with("1 No line has the hash aaaa"));
}

TEST_CASE_FIXTURE(AuditFiles, "operator audit verify: a log that was emptied is not whole") {
  CHECK(verify({file(0)})
        == "1 There is no line: the files are empty, and an audit log never is\n"
           "0 lines are as they were written\n");
  seal(2);
  // The newest file is empty between a rotation and the next line.
  const auto whole = file(0);
  const auto empty = directory.path() + "/audit.log";
  std::ofstream{empty}.flush();
  CHECK(verify({empty, whole}).starts_with("0 2 lines"));
}
