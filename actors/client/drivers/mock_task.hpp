// What a mock task does, read from its configuration; and the log files it writes.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "actors/client/drivers/config_reader.hpp"
#include "actors/client/drivers/config_schema.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/workload/task_env.hpp"
#include "runtime/workload/task_event.hpp"

namespace nomad::client {

/// One of the two outputs.
struct MockOutput {
  std::string text;
  std::int64_t repeat = 0;  ///< Times after the first.
  Nanoseconds pause{0};
};

struct MockCommand {
  Nanoseconds run_for{0};
  workload::ExitResult result;
  std::string signal_error;
  MockOutput out;
  MockOutput err;
};

struct MockTask {
  MockCommand command;
  std::optional<MockCommand> exec_command;
  std::string start_error;
  bool start_error_recoverable = false;
  Nanoseconds start_block_for{0};
  Nanoseconds kill_after{0};
  Nanoseconds plugin_exit_after{0};
  workload::DriverNetwork network;
};

/// What may stand in its configuration.
std::span<const ConfigFieldSpec> mock_fields();

/// `config` as the fields have made it. `invalid_argument` for a port map that is none.
Result<MockTask> parse_mock_task(const ConfigReader& config);

/// Appends to "<alloc_root>/alloc/logs/<task>.<stdout|stderr>.<n>", rotating as the limits say.
class MockLog {
public:
  MockLog() = default;
  MockLog(schema::plugin::TaskConfig::Reader config, std::string_view stream);

  Result<> write(std::string_view text);

private:
  std::string prefix_;
  std::uint64_t index_ = 0;
  std::uint64_t max_bytes_ = 0;
  std::uint32_t max_files_ = 0;
  bool disabled_ = true;
};

}  // namespace nomad::client
