// login: what is asked of whom, where tokens come from, and whom the waiting listener believes.
#include <cstdlib>
#include <fstream>

#include <sys/stat.h>

#include <fmt/format.h>

#include "cli/acl/login_callback.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/cli/fake_agent.hpp"

using namespace nomad;
using namespace nomad::cli;

namespace {

const std::string login_methods
    = R"([{"Name":"keys","Type":"JWT","Default":true},{"Name":"sso","Type":"OIDC"},)"
      R"({"Name":"old","Type":"LDAP"}])";

const std::string login_token
    = R"({"AccessorID":"a","SecretID":"s","Name":"JWT-keys","Type":"client","Policies":["reader"],)"
      R"("Roles":null,"Global":false,"CreateTime":"2026-01-02T03:04:05.6Z","CreateIndex":5,"ModifyIndex":5})";

net::Request callback_request(const std::string& target, const std::string& method = "GET") {
  net::Request request;
  request.method = method;
  request.path = target.substr(0, target.find('?'));
  if (const auto question = target.find('?'); question != std::string::npos)
    net::parse_query(target.substr(question + 1), request.query);
  return request;
}

std::string judged(const net::Request& request, std::string_view state = "st") {
  const auto code = answer_of(request, state);
  return code ? "code " + code->code
              : fmt::format("{}: {}", to_string(code.error().code), code.error().what);
}

struct Login : test::FakeAgent {
  Login() {
    answer("GET /v1/acl/auth-methods", login_methods);
    answer("PUT /v1/acl/login", login_token);
    answer("PUT /v1/acl/oidc/complete-auth", login_token);
  }

  ~Login() {
    if (!path_before_.empty()) ::setenv("PATH", path_before_.c_str(), 1);
  }

  test::TempDir dir;

  std::string file(const std::string& name, const std::string& text) const {
    const auto path = dir.file(name);
    std::ofstream{path} << text;
    return path;
  }

  /// From now on xdg-open is this script, which bash runs, with the URL as $1.
  void browser(const std::string& script) {
    const auto path = file("xdg-open", "#!/bin/bash\n" + script);
    ::chmod(path.c_str(), 0755);
    if (path_before_.empty()) path_before_ = std::getenv("PATH");
    ::setenv("PATH", (dir.path() + ":" + path_before_).c_str(), 1);
  }

  std::string browsed() const {
    std::ifstream file{dir.file("browsed")};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  /// From now on servers send browsers to a page whose URL has the state st_1 and tells where the
  /// listener is; the browser asks for these targets there, one after the other.
  void browser_that_asks(const std::string& targets) {
    answer("PUT /v1/acl/oidc/auth-url",
           R"({"AuthURL":"https://idp.example/authorize?state=st_1&asked=@body@"})");
    browser(
        fmt::format("env > {0}/browsed\n"
                    "port=$(sed -n 's/.*127.0.0.1%3A\\([0-9]*\\).*/\\1/p' <<< \"$1\")\n"
                    "for target in {1}; do\n"
                    "  exec 3<>/dev/tcp/127.0.0.1/$port\n"
                    "  printf 'GET %s HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' "
                    "\"$target\" >&3\n"
                    "  cat <&3 > /dev/null\n"
                    "done\n",
                    dir.path(), targets));
  }

  int log_in() { return run(run_login, {"-method", "sso", "-oidc-callback-addr", "127.0.0.1:0"}); }

private:
  std::string path_before_;
};

}  // namespace

TEST_CASE_FIXTURE(Login, "login: the other issuer's token comes from a flag, a file or stdin") {
  const auto sent = R"(PUT /v1/acl/login {"AuthMethodName":"keys","LoginToken":"a.b.c"})";
  CHECK(run(run_login, {"-login-token", "a.b.c"}) == 0);
  CHECK(written() == sent);
  CHECK(out.starts_with("Successfully logged in via JWT and keys\n\nAccessor ID  = a\n"));
  CHECK(run(run_login, {"-method", "keys", "-login-token", "-"}, "a.b.c\n") == 0);
  CHECK(written() == sent);
  CHECK(run(run_login, {"-method", "keys", "-login-token", "@" + file("jwt", "a.b.c\n")}) == 0);
  CHECK(written() == sent);
  CHECK(run(run_login, {"-login-token", "@/nowhere"}) == 1);
  CHECK(err == "Error reading login token: open /nowhere: No such file or directory");
  CHECK(run(run_login, {"-method", "old", "-login-token", "x"}) == 1);
  CHECK(err == "Unsupported authentication type \"LDAP\"");
}

TEST_CASE_FIXTURE(Login, "login: a made token is shown, whatever is wrong with the template") {
  CHECK(run(run_login, {"-login-token", "a.b.c", "-json", "-t", "x"}) == 1);
  CHECK(written().empty());
  CHECK(run(run_login, {"-login-token", "a.b.c", "-t", "{{.Secret"}) == 1);
  CHECK(out.find("Secret ID    = s\n") != std::string::npos);
}

TEST_CASE_FIXTURE(Login, "login: the browser comes back with the code of this login") {
  browser_that_asks(
      "'/favicon.ico' '/oidc/callback?code=evil&state=st_0' '/oidc/callback?code=evil' "
      "'/oidc/callback?code=c0de&state=st_1'");
  ::setenv("NOMAD_TOKEN", "5ec2e7", 1);
  const int code = log_in();
  ::unsetenv("NOMAD_TOKEN");

  CHECK(code == 0);
  CHECK(out.starts_with("Successfully logged in via OIDC and sso\n\nAccessor ID  = a\n"));
  CHECK(err.find("https://idp.example/authorize?state=st_1&asked=") != std::string::npos);
  REQUIRE(asked.size() == 3);
  const auto where = asked[1].find("/oidc/callback\",\"ClientNonce\":\"");
  REQUIRE(where != std::string::npos);
  CHECK(asked[1].starts_with(
      R"(PUT /v1/acl/oidc/auth-url {"AuthMethodName":"sso","RedirectURI":"http://127.0.0.1:)"));
  const auto request = asked[1].substr(asked[1].find('{'));
  CHECK(asked[2].find(request.substr(0, request.size() - 1)) != std::string::npos);
  CHECK(asked[2].ends_with(R"("State":"st_1","Code":"c0de"})"));
  CHECK(browsed().find("PATH=") != std::string::npos);
  CHECK(browsed().find("5ec2e7") == std::string::npos);
}

TEST_CASE_FIXTURE(Login, "login: a provider that refuses ends it with its words") {
  browser_that_asks("'/oidc/callback?state=st_1&error=access_denied&error_description=not+you'");
  CHECK(log_in() == 1);
  CHECK(err.ends_with("Error performing login: the provider refused: access_denied: not you"));
}

TEST_CASE_FIXTURE(Login, "login: no browser is sent to what is no page of a provider") {
  browser(fmt::format("echo \"$1\" > {}/browsed\n", dir.path()));
  const auto said_of = [this](const std::string& url) {
    answer("PUT /v1/acl/oidc/auth-url", R"({"AuthURL":")" + url + R"("})");
    CHECK(log_in() == 1);
    CHECK(browsed().empty());
    return err;
  };
  for (const std::string url :
       {"file:///etc/passwd", "--version", "", "https://idp.example/x y?state=a"})
    CHECK(said_of(url)
          == "Error performing login: the server names no URL of a provider: \"" + url + '"');
  for (const std::string url : {"https://idp.example/authorize", "https://idp.example/?state="})
    CHECK(
        said_of(url)
        == "Error performing login: the provider's URL has no state, by which to know its answer");
}

TEST_CASE("login: the listener takes the answer with its own state alone") {
  CHECK(judged(callback_request("/oidc/callback?code=c&state=st")) == "code c");
  for (const auto* target :
       {"/?code=c&state=st", "/oidc/callback?code=c", "/oidc/callback?code=c&state=ST",
        "/oidc/callback?code=&state=st", "/oidc/callback?state=st",
        "/oidc/callback/?code=c&state=st", "/oidc/callback?error=x&state=so"}) {
    CAPTURE(target);
    CHECK(judged(callback_request(target)).starts_with("rejected: "));
  }
  CHECK(
      judged(callback_request("/oidc/callback?code=c&state=st", "POST")).starts_with("rejected: "));
  CHECK(judged(callback_request("/oidc/callback?code=c&state="), "").starts_with("rejected: "));
}
