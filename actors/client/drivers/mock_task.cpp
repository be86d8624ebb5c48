#include "actors/client/drivers/mock_task.hpp"

#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/whole_number.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {
namespace {

constexpr ConfigFieldSpec command_fields[] = {{"run_for", ConfigKind::DURATION},
                                              {"exit_code", ConfigKind::NUMBER},
                                              {"exit_signal", ConfigKind::NUMBER},
                                              {"exit_err_msg"},
                                              {"signal_error"},
                                              {"stdout_string"},
                                              {"stdout_repeat", ConfigKind::NUMBER},
                                              {"stdout_repeat_duration", ConfigKind::DURATION},
                                              {"stderr_string"},
                                              {"stderr_repeat", ConfigKind::NUMBER},
                                              {"stderr_repeat_duration", ConfigKind::DURATION}};

constexpr ConfigFieldSpec own_fields[]
    = {{"start_error"},
       {"start_error_recoverable", ConfigKind::BOOLEAN},
       {"start_block_for", ConfigKind::DURATION},
       {"kill_after", ConfigKind::DURATION},
       {"plugin_exit_after", ConfigKind::DURATION},
       {"driver_ip"},
       {"driver_advertise", ConfigKind::BOOLEAN},
       {"driver_port_map"},
       {"exec_command", ConfigKind::BLOCK, false, command_fields}};

MockCommand read_command(const ConfigReader& reader) {
  MockCommand command;
  command.run_for = reader.duration("run_for");
  command.result = {.code = static_cast<int>(reader.number("exit_code")),
                    .signal = static_cast<int>(reader.number("exit_signal")),
                    .error = reader.text("exit_err_msg")};
  command.signal_error = reader.text("signal_error");
  command.out = {.text = reader.text("stdout_string"),
                 .repeat = reader.number("stdout_repeat"),
                 .pause = reader.duration("stdout_repeat_duration")};
  command.err = {.text = reader.text("stderr_string"),
                 .repeat = reader.number("stderr_repeat"),
                 .pause = reader.duration("stderr_repeat_duration")};
  return command;
}

/// "label:port".
Result<> read_mock_ports(const std::string& text, workload::DriverNetwork& network) {
  if (text.empty()) return {};
  const auto colon = text.find(':');
  const auto digits
      = colon == text.npos ? std::string_view{} : std::string_view{text}.substr(colon + 1);
  const auto port = whole_number<int>(digits);
  if (!port) return Error{Errc::invalid_argument, "malformed port map: \"" + text + "\""};
  network.port_map.emplace(text.substr(0, colon), *port);
  return {};
}

}  // namespace

std::span<const ConfigFieldSpec> mock_fields() {
  static const auto fields = [] {
    std::vector<ConfigFieldSpec> all{std::begin(command_fields), std::end(command_fields)};
    all.insert(all.end(), std::begin(own_fields), std::end(own_fields));
    return all;
  }();
  return fields;
}

Result<MockTask> parse_mock_task(const ConfigReader& reader) {
  MockTask task;
  task.command = read_command(reader);
  task.start_error = reader.text("start_error");
  task.start_error_recoverable = reader.boolean("start_error_recoverable");
  task.start_block_for = reader.duration("start_block_for");
  task.kill_after = reader.duration("kill_after");
  task.plugin_exit_after = reader.duration("plugin_exit_after");
  task.network.ip = reader.text("driver_ip");
  task.network.auto_advertise = reader.boolean("driver_advertise");
  NOMAD_TRY(read_mock_ports(reader.text("driver_port_map"), task.network));
  if (reader.has("exec_command")) task.exec_command = read_command(reader.block("exec_command"));
  return task;
}

MockLog::MockLog(schema::plugin::TaskConfig::Reader config, std::string_view stream)
    : prefix_{copy(config.getAllocRoot()) + "/alloc/logs/" + copy(config.getId().getTask()) + '.'
              + std::string{stream} + '.'},
      max_bytes_{config.getLogs().getMaxFileBytes()},
      max_files_{config.getLogs().getMaxFiles()},
      disabled_{config.getLogs().getDisabled()} {}

Result<> MockLog::write(std::string_view text) {
  if (disabled_ || text.empty()) return {};
  while (true) {
    const auto path = prefix_ + std::to_string(index_);
    const host::UniqueFd file{
        ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)};
    if (!file) return errno_error("opening " + path, errno);

    struct stat about {};

    if (::fstat(file.get(), &about) == 0
        && static_cast<std::uint64_t>(about.st_size) >= max_bytes_) {
      ++index_;
      if (index_ >= max_files_)
        std::remove((prefix_ + std::to_string(index_ - max_files_)).c_str());
      continue;
    }
    while (!text.empty()) {
      const auto written = ::write(file.get(), text.data(), text.size());
      if (written < 0) return errno_error("writing " + path, errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }
}

}  // namespace nomad::client
