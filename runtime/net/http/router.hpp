// HttpRouter: finds the handler of a path as Go's ServeMux does. A pattern that ends in '/' covers
// everything below it, the longest pattern wins, unclean paths and prefixes called without
// their slash are redirected.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/net/http/responder.hpp"

namespace nomad::net {

/// Takes one request on an I/O thread and must not block there. The request is
/// `responder.request()`.
using Handler = std::function<void(Responder)>;

class HttpRouter {
public:
  /// Registers `handler` for `pattern`. A second one for the same pattern replaces the first.
  void handle(std::string pattern, Handler handler);

  /// For paths that no pattern covers; without one they get 404 with an empty body.
  void handle_rest(Handler handler);

  struct Match {
    const Handler* handler = nullptr;
    std::string redirect;  ///< Not empty: answer 301 with this path.
  };

  /// By the decoded path, if it was clean as it was sent: a name in it may have "//" or "..", which
  /// come encoded. One that was not clean is given as it was sent, and redirected.
  Match find(std::string_view path, bool is_clean) const;

private:
  const Handler* lookup(std::string_view path) const;

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::unordered_map<std::string, Handler, Hash, std::equal_to<>> exact_;
  std::vector<std::pair<std::string, Handler>> prefixes_;  ///< Longest first.
  Handler rest_;
};

/// Hands a request to the handler of its path, or answers what a path without one deserves.
void serve(const HttpRouter& router, Responder responder);

}  // namespace nomad::net
