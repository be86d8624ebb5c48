#include "actors/api/ui/pages.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/net/http/gzip.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {
namespace {

constexpr std::string_view ui_path = "/ui/";
constexpr std::string_view index_file = "index.html";
constexpr std::size_t most_inflated = 16 * 1024 * 1024;

const web_ui::Asset* find_asset(std::span<const web_ui::Asset> assets, std::string_view path) {
  const auto found = std::ranges::lower_bound(assets, path, {}, &web_ui::Asset::path);
  return found != assets.end() && found->path == path ? &*found : nullptr;
}

net::Response plain_text(unsigned status, std::string_view text) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .headers = {{"X-Content-Type-Options", "nosniff"}},
          .body = std::string{text}};
}

/// Scripts, styles and connections of this agent alone, none of them inline.
std::string content_policy(const UiOptions& options) {
  return "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; "
         "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
         "form-action 'none'; frame-ancestors "
         + (options.frame_ancestors.empty() ? "'none'" : join(options.frame_ancestors, " "))
         + "; require-trusted-types-for 'script'";
}

/// Whether the client has this version. Weak or not: it is one content, whatever its encoding.
bool is_known_to_client(const net::Request& request, std::string_view etag) {
  const auto held = request.header("If-None-Match");
  return held == "*" || held.find(etag) != std::string_view::npos;
}

}  // namespace

net::Response ui_response(std::span<const web_ui::Asset> assets,
                          const UiOptions& options,
                          const net::Request& request) {
  if (!options.enabled)
    return plain_text(net::status::not_found,
                      "The web UI is disabled: the agent's configuration says ui { enabled = "
                      "false }.\n");
  if (assets.empty())
    return plain_text(net::status::not_found,
                      "This nomadctl was built without its web UI (meson's option ui).\n");
  if (request.method != "GET" && request.method != "HEAD")
    return plain_text(net::status::method_not_allowed, "Invalid method");
  const auto* asset = find_asset(assets, std::string_view{request.path}.substr(ui_path.size()));
  if (asset == nullptr) asset = find_asset(assets, index_file);
  if (asset == nullptr) return {.status = net::status::not_found};
  const bool is_index = asset->path == index_file;
  const auto etag = quote(asset->hash);
  net::Response response{
      .headers = {
          {"Cache-Control", is_index ? "no-cache" : "public, max-age=31536000, immutable"},
          {"ETag", "W/" + etag},
          {"Content-Security-Policy", content_policy(options)},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
      }};
  if (is_known_to_client(request, etag)) {
    response.status = net::status::not_modified;
    return response;
  }
  response.content_type = asset->type;
  if (request.accepts_gzip())
    response.shared_gzip = std::make_shared<const std::string>(asset->gzip);
  else
    response.body = net::gunzip(asset->gzip, most_inflated);
  return response;
}

void add_ui_pages(net::HttpRouter& router, UiOptions options, net::HostRules hosts) {
  const auto refuse = [hosts = std::move(hosts)](const net::Request& request) {
    return net::refuse_page(request, hosts, false);
  };
  router.handle(std::string{ui_path},
                [options = std::move(options), refuse](net::Responder responder) {
                  const auto& request = responder.request();
                  if (const auto why = refuse(request))
                    return responder.send(plain_text(net::status::forbidden, *why));
                  responder.send(ui_response(web_ui::assets(), options, request));
                });
  router.handle_rest([](net::Responder responder) {
    const auto& request = responder.request();
    net::Response response{.status = net::status::not_found};
    if (request.path == "/") {
      std::string location{ui_path};
      if (const auto question = request.target.find('?'); question != std::string::npos)
        location += percent_encode(request.target.substr(question), "/:@!$&'()*+,;=?%");
      response.status = net::status::temporary_redirect;
      response.headers.push_back({"Location", std::move(location)});
    }
    responder.send(std::move(response));
  });
}

}  // namespace nomad::api
