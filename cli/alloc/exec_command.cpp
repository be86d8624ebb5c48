#include "cli/alloc/exec_command.hpp"

#include <iostream>
#include <utility>

#include <unistd.h>

#include "cli/alloc/exec_stream.hpp"
#include "runtime/base/base64.hpp"
#include "runtime/base/random.hpp"

namespace nomad::cli {
namespace {

constexpr const char* failure = "failed to exec into task";

std::string websocket_key() {
  auto random = Random::from_system();
  std::string bytes;
  for (int i = 0; i < 2; ++i) {
    const auto number = random.next();
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return encode_base64(bytes);
}

Result<net::Upgraded> open_websocket(Api& api, const std::string& path, const Query& query) {
  const auto key = websocket_key();
  auto made = api.upgrade(path, query,
                          {{"Connection", "Upgrade"},
                           {"Upgrade", "websocket"},
                           {"Sec-WebSocket-Version", "13"},
                           {"Sec-WebSocket-Key", key}});
  if (!made) return made.error();
  if (!made->stream) return refusal(made->answer);
  if (made->answer.header("Sec-WebSocket-Accept") != net::websocket::accept_for(key))
    return Error{Errc::corrupt, "websocket: bad handshake"};
  return made;
}

}  // namespace

bool ExecCommand::wants_tty() const {
  return tty.value_or(::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1);
}

std::optional<int> ExecCommand::check_streams() const {
  const char* wrong = nullptr;
  if (wants_tty() && !input)
    wrong = "-i must be enabled if running with tty";
  else if (escape != "none" && escape.size() > 1)
    wrong = "-e requires 'none' or a single character";
  if (wrong == nullptr) return {};
  std::cerr << wrong << '\n';
  return 1;
}

Result<int> ExecCommand::serve(const std::string& path, Query query) {
  const bool has_tty = wants_tty();
  query.emplace_back("tty", has_tty ? "true" : "false");
  auto connection = NOMAD_TRY(open_websocket(*api, path, query).within(failure));
  ExecStreamOptions options;
  options.reads_input = input;
  options.tty = has_tty;
  options.escape
      = escape.empty() || escape == "none" ? std::nullopt : std::optional{escape.front()};
  const auto code = ExecStream{std::move(connection), options}.run();
  return code ? *code : fail(failure, code.error());
}

}  // namespace nomad::cli
