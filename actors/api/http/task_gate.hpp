// The gate before the API at the sockets of tasks: who is there shows a token that is one, of a
// task's identity or of access control, before anything at all is looked for: also for pages that
// are open to everybody elsewhere, for paths that nobody knows, and where access control is off
// (then only an identity is one). Who is let in has the rights of his token.
//
// Refusals are Nomad's: 401 without a token, 403 for a secret that nobody has, 500 for what is
// none. They are counted and audited as those of the API are, of no route.
#pragma once

#include <memory>

#include "actors/api/http/call.hpp"
#include "runtime/net/http/router.hpp"

namespace nomad::api {

net::Handler task_gate(std::shared_ptr<Context> context,
                       std::shared_ptr<const net::HttpRouter> routes,
                       const std::shared_ptr<telemetry::Registry>& metrics);

}  // namespace nomad::api
