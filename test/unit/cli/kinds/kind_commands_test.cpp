// apply, delete, info and list of a kind that has nothing of its own to say.
#include "cli/kinds/kind_commands.hpp"

#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

KindWords notice() {
  return {.noun = "door notice",
          .plural = "door notices",
          .list_path = "/v1/notices",
          .path = "/v1/notice/",
          .columns = {"Name", "PutUpBy"}};
}

template <Result<int> (*run)(const KindWords&, const std::vector<std::string>&)>
Result<int> of_notice(const std::vector<std::string>& arguments) {
  return run(notice(), arguments);
}

struct Notices : test::FakeAgent {
  Notices() {
    answer("GET /v1/notices", R"([{"Name":"a","PutUpBy":"me"},{"Name":"ab","PutUpBy":""}])");
    answer("PUT /v1/notices", "");
    answer("DELETE /v1/notice/a", "");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Notices, "kind commands: list and info show the columns") {
  CHECK(run(of_notice<list_kind>, {"-per-page", "2", "-filter", "x"}) == 0);
  CHECK(asked.at(0) == "GET /v1/notices?filter=x&per_page=2");
  CHECK(out == "Name  Put Up By\na     me\nab    <none>\n");
  CHECK(run(of_notice<show_kind>, {"a"}) == 0);
  CHECK(out == "Name      = a\nPut Up By = me\n");
  CHECK(run(of_notice<show_kind>, {"b"}) == 1);
  CHECK(err.starts_with("Prefix matched multiple door notices\n\nName  Put Up By\n"));
  answer("GET /v1/notices", "[]");
  CHECK(run(of_notice<show_kind>, {"b"}) == 1);
  CHECK(err == "Error retrieving door notice: No door notice with prefix \"b\" found");
}

TEST_CASE_FIXTURE(Notices, "kind commands: apply puts what a block says, delete removes by name") {
  CHECK(run(of_notice<apply_kind>, {"-"}, "door_notice \"a\" {\n  put_up_by = \"me\"\n}\n") == 0);
  CHECK(written() == R"(PUT /v1/notices {"Name":"a","PutUpBy":"me"})");
  CHECK(out == "Successfully applied door notice \"a\"!\n");
  CHECK(run(of_notice<apply_kind>, {"-"}, "notice \"a\" {}\n") == 1);
  CHECK(err == "Failed to parse input content: expected one block, door_notice \"<name>\"");
  CHECK(run(of_notice<delete_kind>, {"a"}) == 0);
  CHECK(written() == "DELETE /v1/notice/a");
  CHECK(out == "Successfully deleted door notice \"a\"!\n");
  CHECK(run(of_notice<delete_kind>, {}) == 1);
  CHECK(err.starts_with("This command takes one argument: <door-notice>"));
}
