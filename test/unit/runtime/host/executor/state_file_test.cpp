#include "runtime/host/executor/state_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "../temp_dir.hpp"

using namespace nomad::host;
using namespace nomad::host::executor;

namespace {

RunState full_state() {
  RunState state;
  state.run_id = "run-1";
  state.process = {1234, 567890, "2f1d6d1c-0000-4000-8000-000000000000"};
  state.started_at = 1700000000123456789;
  state.exit = ExitStatus{137, 9, true, 1700000001123456789};
  return state;
}

}  // namespace

TEST_CASE("state_file: what is written is read") {
  RunState intent;
  intent.run_id = "run-1";
  RunState running = full_state();
  running.exit.reset();

  for (const RunState& state : {RunState{}, intent, running, full_state()})
    CHECK(parse_run_state(to_text(state)) == state);
}

TEST_CASE("state_file: every cut of a file is empty, whole lines, or refused") {
  std::string text = to_text(full_state());
  for (std::size_t size = 0; size < text.size(); ++size) {
    auto parsed = parse_run_state(text.substr(0, size));
    CHECK(parsed.has_value() == (size == 0 || text[size - 1] == '\n'));
  }
  for (const char* bad : {"\n", "nomadctl-executor 2\n", "nomadctl-executor 1\nrun\n",
                          "nomadctl-executor 1\nprocess x 1 b 2\n",
                          "nomadctl-executor 1\nexit 1 2 3\n", "nomadctl-executor 1\n\n"})
    CHECK_FALSE(parse_run_state(bad).has_value());
}

TEST_CASE("state_file: a flipped bit is seen") {
  const auto text = to_text(full_state());
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    auto damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    CAPTURE(bit);
    CHECK_FALSE(parse_run_state(damaged).has_value());
  }
  // As earlier releases wrote it.
  CHECK(parse_run_state(text.substr(0, text.rfind("sum "))) == full_state());
}

TEST_CASE("state_file: is replaced whole, and absent is empty") {
  TempDir directory;
  int descriptor = ::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  CHECK(read_state(descriptor) == RunState{});
  CHECK(write_state(descriptor, RunState{.run_id = "a"}, false) == 0);
  CHECK(write_state(descriptor, full_state(), true) == 0);
  CHECK(read_state(descriptor) == full_state());

  write_text(directory / "state", "garbage");
  CHECK_FALSE(read_state(descriptor).has_value());
  ::close(descriptor);
}

TEST_CASE("state_file: run ids are names of tasks, too, but hold no ends of lines") {
  for (const std::string good :
       {"5f2cbd5e-0d5c-4b0a-9d0e/web/1", "5f2c/my task/1", "5f2c/t\xc3\xa4sk/1"}) {
    CHECK(is_run_id(good));
    const RunState state{.run_id = good};
    CHECK(parse_run_state(to_text(state)) == state);
  }
  for (const char* bad : {"", "a\nb", "\x7f"})
    CHECK_FALSE(is_run_id(bad));
  CHECK(is_run_id(std::string(400, 'a')));
  CHECK_FALSE(is_run_id(std::string(401, 'a')));
}
