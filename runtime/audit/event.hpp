// Event: what the audit log says of one call at one stage, and its text as Nomad Enterprise writes
// it, with ours beside: who else it was, what was judged and by which policy, how long it took.
//
// A line may say nothing that opens anything: no query, no body, no header but the user agent. What
// comes from the caller is escaped, cut to `most_text`, and has the token that he showed taken out
// wherever he wrote it (`redact`).
//
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::audit {

enum class Stage : std::uint8_t {
  received,         ///< Before anything is done.
  session_started,  ///< Ours: of `alloc exec`, before the command starts: who asks, and that he
                    ///< may.
  complete,         ///< Before the answer goes out; of a stream when it is over.
};

/// "OperationReceived"
std::string_view name_of(Stage stage);

/// Of one text that a caller chose.
inline constexpr std::size_t most_text = 2'048;

struct Auth {
  std::string accessor{};  ///< Empty: no token is known.
  std::string name{};
  std::vector<std::string> policies{};
  bool global = false;
  std::int64_t create_time = 0;  ///< Unix nanoseconds; 0: not known.

  // Ours.
  std::string type{};  ///< "management", "client"
  std::string alloc{};
  std::string node{};
  std::string certificate{};   ///< "server.global.nomad", of whom a certificate proves it.
  std::string passed_on_by{};  ///< The agent that sent the request on; empty: its client did.
};

struct Request {
  std::string id{};
  std::string operation{};  ///< "GET"
  std::string endpoint{};   ///< The path.
  std::string ns{};         ///< That the request names.
  std::string remote{};
  std::string user_agent{};
  std::string node_ip{};  ///< Of the agent.
};

/// What was judged in the end. Ours.
struct Verdict {
  bool is_allowed = false;
  std::string capability{};             ///< "submit-job"; empty: none was needed.
  std::vector<std::string> policies{};  ///< That decided; empty: no rule did.
  std::string ns{};                     ///< Of the object itself; likewise the rest.
  std::string path{};
  std::string node_pool{};
  std::string node{};
  std::string host_volume{};
  std::string plugin{};
};

struct Response {
  unsigned status = 0;
  std::string error{};
  std::chrono::nanoseconds took{0};
};

struct Event {
  std::int64_t created_at = 0;  ///< Unix nanoseconds.
  std::int64_t timestamp = 0;   ///< When the call came.
  std::string id{};             ///< The same for all stages of a call.
  Stage stage = Stage::received;
  Auth auth{};
  Request request{};
  std::string route{};   ///< "PUT /v1/job/*/plan"; ours.
  std::string object{};  ///< What it is about, where the path alone does not say so; ours.
  std::optional<Verdict> verdict{};
  std::optional<Response> response{};
};

/// An open JSON object, which a chain closes (chain.hpp).
std::string to_text(const Event& event);

/// The same of what the log says of itself: "AuditStarted", with a number or two.
std::string note_text(std::int64_t now,
                      std::string_view stage,
                      const std::vector<std::pair<std::string_view, std::uint64_t>>& numbers);

/// Takes every occurrence of `secret` out of all texts that the caller chose.
void redact(Event& event, std::string_view secret);

}  // namespace nomad::audit
