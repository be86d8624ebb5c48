#include "actors/api/allocs/exec_endpoint.hpp"

#include <utility>

#include "actors/api/allocs/exec_session.hpp"
#include "actors/api/forward/dispatch.hpp"
#include "actors/api/http/request_body.hpp"
#include "actors/api/http/token_handshake.hpp"
#include "actors/api/http/websocket_handshake.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::api {
namespace {

Error refused(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

/// The command of the query: a JSON array of texts. `null` is an empty one.
Result<std::vector<std::string>> parse_command(std::string_view text) {
  const auto parsed = NOMAD_TRY(parse_value(text));
  std::vector<std::string> command;
  const JsonNode& words = parsed.root();
  if (words.is(JsonKind::null)) return command;
  const auto mismatch = [](const JsonNode& value, std::string_view type) {
    return refused("json: cannot unmarshal " + std::string{go_kind(value)}
                   + " into Go value of type " + std::string{type});
  };
  if (!words.is(JsonKind::array)) return mismatch(words, "[]string");
  for (const JsonNode& word : words.elements()) {
    if (!word.is(JsonKind::text) && !word.is(JsonKind::null)) return mismatch(word, "string");
    command.emplace_back(word.text());
  }
  return command;
}

/// A parameter as Go's ParseBool reads it; absent is false.
Result<bool> flag_of(const net::Request& request, std::string_view name) {
  const auto text = request.parameter_or_empty(name);
  if (text.empty()) return false;
  const auto value = parse_bool(text);
  if (value) return *value;
  return refused(std::string{name} + " value is not a boolean: strconv.ParseBool: parsing \""
                 + std::string{text} + "\": invalid syntax");
}

Result<ExecRequest> exec_request_of(const Call& call) {
  const auto& request = call.request();
  ExecRequest asked;
  asked.alloc_id = call.rest;
  asked.task = request.parameter_or_empty("task");
  asked.command.command = NOMAD_TRY(parse_command(request.parameter_or_empty("command"))
                                        .within("failed to marshal command into json"));
  asked.command.tty = NOMAD_TRY(flag_of(request, "tty"));
  return asked;
}

/// The allocation is the query's, and from here on what the call is about.
Result<ExecRequest> action_request_of(Call& call) {
  const auto& request = call.request();
  ExecRequest asked;
  asked.job_id = std::exchange(call.rest, std::string{request.parameter_or_empty("allocID")});
  asked.alloc_id = call.rest;
  asked.task = request.parameter_or_empty("task");
  asked.action = request.parameter_or_empty("action");
  asked.command.tty = NOMAD_TRY(flag_of(request, "tty"));
  if (asked.action.empty()) return refused("action is not present");
  return asked;
}

/// Serves a session for `asked`, by the node of its allocation.
Outcome begin_session(Call& call, const ClientParts& parts, const ExecRequest& asked) {
  if (auto refusal = refuse_handshake(call.request())) return std::move(*refusal);
  if (call.request().hops == 0) call.tell_failure = refuse_websocket;
  const bool comes_later = NOMAD_TRY(flag_of(call.request(), "ws_handshake"));
  NOMAD_TRY(check_id("alloc", call.rest));
  const auto go_on = [asked, client = parts.client](Call known) {
    const auto serve = [asked, client](Call admitted) {
      dispatch(Where::alloc_node, std::move(admitted),
               [asked, client](Call there) { serve_exec(std::move(there), client, asked); });
    };
    known.asking.needed = Capability::alloc_exec;
    if (is_of_other_region(Where::alloc_node, known))
      serve(std::move(known));
    else
      with_rights(std::move(known), serve);
  };
  if (comes_later)
    read_token_handshake(std::move(call), go_on);
  else
    go_on(std::move(call));
  return later;
}

}  // namespace

Outcome exec_alloc(Call& call, const ClientParts& parts) {
  const auto asked = NOMAD_TRY(exec_request_of(call));
  return begin_session(call, parts, asked);
}

Outcome run_action(Call& call, const ClientParts& parts) {
  const auto asked = NOMAD_TRY(action_request_of(call));
  return begin_session(call, parts, asked);
}

}  // namespace nomad::api
