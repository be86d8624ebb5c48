// /ui/: which file answers which path, for whom, and under which policy.
#include "actors/api/ui/pages.hpp"

#include <array>

#include <doctest/doctest.h>

#include "runtime/net/http/gzip.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

const std::string packed_index = net::gzip("<!doctype html>");
const std::string packed_script = net::gzip("export {}");
const std::array ui_files{
    web_ui::Asset{"app-1.js", "text/javascript; charset=utf-8", "1a", packed_script},
    web_ui::Asset{"index.html", "text/html; charset=utf-8", "2b", packed_index}};

std::string header_of(const net::Response& response, std::string_view name) {
  for (const auto& header : response.headers)
    if (header.name == name) return header.value;
  return "";
}

net::Request page_request(const std::string& path, const net::Headers& headers = {}) {
  net::Request request;
  request.method = "GET";
  request.path = request.target = path;
  for (const auto& [name, value] : headers)
    request.add_header(name, value);
  return request;
}

std::string page_body(const std::string& path) {
  return ui_response(ui_files, {}, page_request(path)).body;
}

}  // namespace

TEST_CASE("ui pages: a path of a file is that file, every other the index") {
  CHECK(page_body("/ui/app-1.js") == "export {}");
  CHECK(page_body("/ui/index.html") == "<!doctype html>");
  CHECK(page_body("/ui/") == "<!doctype html>");
  CHECK(page_body("/ui/jobs/a/b.js@default") == "<!doctype html>");
  CHECK(page_body("/ui/app-1.j") == "<!doctype html>");
}

TEST_CASE("ui pages: what is hashed is kept for ever, the index is asked for") {
  const auto script = ui_response(ui_files, {}, page_request("/ui/app-1.js"));
  CHECK(script.content_type == "text/javascript; charset=utf-8");
  CHECK(header_of(script, "Cache-Control") == "public, max-age=31536000, immutable");
  const auto index = ui_response(ui_files, {}, page_request("/ui/jobs"));
  CHECK(header_of(index, "Cache-Control") == "no-cache");
  CHECK(header_of(index, "ETag") == "W/\"2b\"");
  const auto again = [](std::string held) {
    return ui_response(ui_files, {}, page_request("/ui/jobs", {{"If-None-Match", std::move(held)}}))
        .status;
  };
  CHECK(again("W/\"2b\"") == 304);
  CHECK(again("\"0\", \"2b\"") == 304);
  CHECK(again("W/\"1a\"") == 200);
}

TEST_CASE("ui pages: compressed as they are kept, for those who take that") {
  const auto response
      = ui_response(ui_files, {}, page_request("/ui/", {{"Accept-Encoding", "gzip"}}));
  REQUIRE(response.shared_gzip);
  CHECK(*response.shared_gzip == packed_index);
}

TEST_CASE("ui pages: a policy that lets nothing in") {
  const auto policy = [](const UiOptions& options) {
    return header_of(ui_response(ui_files, options, page_request("/ui/")),
                     "Content-Security-Policy");
  };
  CHECK(policy({}).starts_with("default-src 'none'; script-src 'self'; "));
  CHECK(policy({}).ends_with("; require-trusted-types-for 'script'"));
  CHECK(policy({}).find("unsafe") == std::string::npos);
  CHECK(policy({}).find("frame-ancestors 'none';") != std::string::npos);
  CHECK(policy({.enabled = true, .frame_ancestors = {"'self'", "https://portal.example"}})
            .find("frame-ancestors 'self' https://portal.example;")
        != std::string::npos);
}

TEST_CASE("ui pages: nothing when they are off, and nobody writes there") {
  CHECK(ui_response(ui_files, {.enabled = false, .frame_ancestors = {}}, page_request("/ui/")).body
        == "The web UI is disabled: the agent's configuration says ui { enabled = false }.\n");
  const auto none = ui_response({}, {}, page_request("/ui/"));
  CHECK(none.status == 404);
  CHECK(none.body == "This nomadctl was built without its web UI (meson's option ui).\n");
  auto post = page_request("/ui/");
  post.method = "POST";
  CHECK(ui_response(ui_files, {}, post).status == 405);
}

TEST_CASE("ui pages: an agent leads to them, and serves them to whoever has no token") {
  ApiFixture fixture{[](ApiOptions& options) { options.hosts.known_only = true; }};
  const auto root = fixture.get("/?ott=a");
  CHECK(root.status == 307);
  CHECK(root.header("Location") == "/ui/?ott=a");
  CHECK(fixture.get("/nothing").status == 404);
  CHECK(fixture.get("/nothing").body.empty());
  CHECK(fixture.get("/ui").status == 301);
  const auto page = fixture.get("/ui/jobs");
  CHECK(page.status == (web_ui::assets().empty() ? 404 : 200));
  CHECK(page.header("X-Content-Type-Options") == "nosniff");
  auto client = fixture.client();
  const auto packed
      = client.send({.target = "/ui/jobs", .headers = {{"Accept-Encoding", "gzip"}}, .body = ""});
  REQUIRE(packed.has_value());
  CHECK((packed->header("Content-Encoding") == "gzip") == !web_ui::assets().empty());
  CHECK(net::gunzip(packed->body, 1 << 20) == (web_ui::assets().empty() ? "" : page.body));
}
