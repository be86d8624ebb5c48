// alloc exec: runs a command beside a task, with the user's terminal or streams as its own.
#include <iostream>
#include <span>
#include <string>

#include <unistd.h>

#include <boost/json.hpp>

#include "cli/alloc/exec_stream.hpp"
#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/run.hpp"
#include "runtime/base/base64.hpp"
#include "runtime/base/random.hpp"

namespace nomad::cli {
namespace {

struct ExecFlags : ApiCommand {
  using ApiCommand::ApiCommand;

  const std::string& task
      = option("task", "The task beside which it runs; needed if there are several.");
  const bool& job = flag("job", "The argument is a job; one of its running allocations is taken.");
  const bool& input = flag("i", "Passes standard input on (true).", true);
  const std::optional<bool>& tty = flag<std::optional<bool>>(
      "t", "Gives the command a terminal; the default when this is run on one.");
  const std::string& escape
      = option("e",
               "The escape character of sessions with a terminal (~), at the beginning of a line: "
               "followed by '.' it closes the connection; \"none\" for none.",
               "~");

  bool wants_tty() const {
    return tty.value_or(::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1);
  }
};

/// Prints what is wrong with the arguments; the exit code, or nothing.
std::optional<int> check(const ExecFlags& flags) {
  const auto& words = flags.positional();
  if (words.empty())
    return flags.misuse(flags.job ? "A job ID is required" : "An allocation ID is required");
  const auto complain = [](const char* text) {
    std::cerr << text << '\n';
    return 1;
  };
  if (!flags.job && words[0].size() == 1)
    return complain("Alloc ID must contain at least two characters");
  if (words.size() < 2) return flags.misuse("A command is required");
  if (flags.wants_tty() && !flags.input) return complain("-i must be enabled if running with tty");
  if (flags.escape != "none" && flags.escape.size() > 1)
    return complain("-e requires 'none' or a single character");
  return {};
}

std::string websocket_key() {
  auto random = Random::from_system();
  std::string bytes;
  for (int i = 0; i < 2; ++i) {
    const auto number = random.next();
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return encode_base64(bytes);
}

Result<net::Upgraded> connect(Api& api,
                              const std::string& alloc,
                              const std::string& task,
                              bool tty,
                              std::span<const std::string> words) {
  boost::json::array command;
  for (const auto& word : words)
    command.emplace_back(word);
  const auto key = websocket_key();
  auto made = api.upgrade("/v1/client/allocation/" + alloc + "/exec",
                          {{"task", task},
                           {"tty", tty ? "true" : "false"},
                           {"command", boost::json::serialize(command)}},
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

Result<int> run_alloc_exec(const std::vector<std::string>& arguments) {
  ExecFlags flags{"alloc exec [options] <allocation> <command>",
                  "Runs a command in the environment of a task of an allocation. Its exit code is "
                  "that of the command."};
  if (auto code = flags.parse(arguments)) return *code;
  if (auto code = check(flags)) return *code;
  auto& api = *NOMAD_TRY(flags.connect());
  auto alloc = NOMAD_TRY(choose_alloc(api, flags.job, flags.positional()[0], false));
  const auto view = alloc.view();
  const auto task = NOMAD_TRY(choose_task(view, flags.task, "", ""));
  api.use_namespace(view["Namespace"].text());
  const bool tty = flags.wants_tty();
  auto connection = NOMAD_TRY(
      connect(api, view["ID"].text(), task, tty, std::span{flags.positional()}.subspan(1))
          .within("failed to exec into task"));
  ExecStreamOptions options;
  options.reads_input = flags.input;
  options.tty = tty;
  options.escape = flags.escape.empty() || flags.escape == "none"
                       ? std::nullopt
                       : std::optional{flags.escape.front()};
  const auto code = ExecStream{std::move(connection), options}.run();
  return code ? *code : fail("failed to exec into task", code.error());
}

}  // namespace nomad::cli
