// A request in HTTP's words: whether it can be sent, how, and what is asked next when the answer
// leads elsewhere. Pure.
//
// Redirects are followed as Go's client does: to http or https, by another status than 307 and 308
// as GET without a body (HEAD stays). What tells who asks (Authorization, Cookie, …) is for the
// first host and port alone: once a redirect has led elsewhere it is gone, also for the way back.
// The request's own Host header stays as long as redirects are relative.
#pragma once

#include <optional>
#include <string>

#include "runtime/net/http/client/http_request.hpp"

namespace nomad::net {

/// What is wrong with the texts of a request, in Go's words; "" when it can be sent.
std::string flaw_of(const HttpRequest& request);

/// The request as it is sent.
std::string render(const HttpRequest& request);

/// `Get "http://10.0.0.1:80/x"`.
std::string asked_text(const HttpRequest& request);

/// Whether it may be asked again when it is not known whether it was served.
bool is_repeatable(const HttpRequest& request);

/// What is asked after `request` was answered so; nothing when that is no redirect, and an error,
/// in Go's words, when it leads to where nobody can go.
Result<std::optional<HttpRequest>> redirected(const HttpRequest& request,
                                              const ClientResponse& answer);

}  // namespace nomad::net
