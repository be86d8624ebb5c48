// ui: which page is opened, and with which rights.
#include <cstdlib>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

struct Pages : test::FakeAgent {
  /// What is printed of the URL behind the agent's address.
  std::string url(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "-show-url");
    const auto code = run(run_ui, arguments);
    if (code != 0) return err;
    REQUIRE(out.starts_with("URL for web UI: http://127.0.0.1:"));
    const auto end = out.find_first_of("/?\n", std::string_view{"URL for web UI: http://"}.size());
    return out.substr(end, out.size() - end - 1);
  }

  void found(const std::string& matches) {
    answer("PUT /v1/search", R"({"Matches":)" + matches + "}");
  }
};

}  // namespace

TEST_CASE("ui: without an identifier the first page") {
  Pages pages;
  CHECK(pages.url({}) == "");
  CHECK(pages.url({"-namespace", "a b"}) == "?namespace=a%20b");
  CHECK(pages.asked.empty());
}

TEST_CASE("ui: the page of the object that an identifier begins") {
  Pages pages;
  pages.found(R"({"jobs":["web/a"],"allocs":[],"nodes":[],"evals":[]})");
  CHECK(pages.url({"web"}) == "/ui/jobs/web%2Fa");
  CHECK(pages.url({"-namespace", "apps", "web"}) == "/ui/jobs/web%2Fa@apps?namespace=apps");
  pages.found(R"({"jobs":[],"allocs":["aaaa1"]})");
  CHECK(pages.url({"aa"}) == "/ui/allocations/aaaa1");
  pages.found(R"({"nodes":["bbbb1"]})");
  CHECK(pages.url({"bb"}) == "/ui/clients/bbbb1");
  pages.found(R"({"evals":["cccc1"]})");
  CHECK(pages.url({"cc"}) == "/ui/evaluations/cccc1");
}

TEST_CASE("ui: an exact match wins over longer ones") {
  Pages pages;
  pages.found(R"({"jobs":["web","web-2"]})");
  CHECK(pages.url({"web"}) == "/ui/jobs/web");
  CHECK(pages.url({"we"}) == "Multiple matches found for id \"we\"\n\njobs:\nweb, web-2");
}

TEST_CASE("ui: an identifier of nothing, or two") {
  Pages pages;
  pages.found("{}");
  CHECK(pages.url({"x"}) == "Unable to resolve ID: \"x\"");
  CHECK(pages.url({"x", "y"})
            .starts_with("This command takes no or one optional argument, [<identifier>]"));
}

TEST_CASE("ui: without a browser the URL is to be asked for") {
  Pages pages;
  const std::string path_before = std::getenv("PATH");
  const test::TempDir empty;
  ::setenv("PATH", empty.path().c_str(), 1);
  CHECK(pages.run(run_ui, {}) == 1);
  ::setenv("PATH", path_before.c_str(), 1);
  CHECK(pages.out.starts_with("Opening URL \"http://127.0.0.1:"));
  CHECK(pages.err == "Error opening URL: no xdg-open was found; -show-url prints it");
}

TEST_CASE("ui: -authenticate asks for a token that counts once, which only the browser gets") {
  Pages pages;
  pages.answer("PUT /v1/acl/token/onetime", R"({"OneTimeToken":{"OneTimeSecretID":"s-1"}})");
  CHECK(pages.url({"-authenticate"}) == "?ott=s-1");
  pages.answer("PUT /v1/acl/token/onetime", "Permission denied", 403);
  CHECK(pages.url({"-authenticate"}).starts_with("Could not get one-time token: "));
}
