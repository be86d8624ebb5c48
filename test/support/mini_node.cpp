// mini_node: a client node in a process of its own, to be killed. It runs the raw_exec allocations
// that it is told to and says so.
//
//   mini_node <directory> <executor> <count> <shell script of the tasks>
//
// Prints "up" once every task answers, with the milliseconds since the start; with a count of 0,
// once everything that an earlier one left is gone. Ends by SIGTERM (tasks go on), or kill -9.
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "actors/client/client.hpp"
#include "actors/core/system.hpp"
#include "runtime/object/json_codec.hpp"
#include "test/support/anybody.hpp"
#include "test/support/fake_servers.hpp"
#include "test/support/node_questions.hpp"

using namespace nomad;
using namespace std::chrono_literals;

namespace {

constexpr auto between_questions = 2ms;  ///< Between two questions that nothing tells the time for.

bool answers(actor::BlockingAsker& self, const client::Client& client, const std::string& id) {
  bool fine = false;
  self.request(client, 5s, test::signal_tasks(id, "", "SIGNULL"))
      .receive([&fine](const door::NodeReply&) { fine = true; }, [](const Error&) {});
  return fine;
}

bool is_empty(actor::BlockingAsker& self, const client::Client& client) {
  bool empty = false;
  self.request(client, 5s, client::client_api::CountAllocs{})
      .receive(
          [&empty](const client::client_api::AllocCounts& counts) {
            empty = counts.contacted && counts.pending + counts.running + counts.terminal == 0;
          },
          [](const Error&) {});
  return empty;
}

std::string config_of(const std::string& script) {
  std::string json = R"({"command":"/bin/sh","args":["-c",)";
  append_json_text(json, script);
  return json + "]}";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const auto began = std::chrono::steady_clock::now();
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const std::string directory = argv[1];
  const auto owner = std::hash<std::string>{}(directory);
  const int count = std::stoi(argv[3]);
  std::filesystem::create_directories(directory + "/state");
  std::filesystem::create_directories(directory + "/allocs");

  auto board = std::make_shared<test::ServerBoard>();
  const auto job = test::simple_job("job", "batch", "raw_exec", config_of(argv[4]));
  for (int number = 0; number < count; ++number)
    board->assigned.push_back({test::simple_alloc(job, number, owner), job});

  actor::SystemConfig config;
  actor::System system{config};
  auto servers = actor::spawn(system, test::fake_servers, board);
  client::ClientOptions options;
  options.state_dir = directory + "/state";
  options.alloc_dir = directory + "/allocs";
  options.executor_path = argv[2];
  options.drivers["raw_exec"]["enabled"] = "true";
  auto node = client::start_client(system, options, servers, client::builtin_plugins(false));
  if (!node) {
    std::fprintf(stderr, "%s\n", node.error().what.c_str());
    return 1;
  }
  {
    actor::BlockingAsker self{system};
    for (int number = 0; number < count; ++number)
      if (!test::succeeds([&] { return answers(self, *node, test::numbered_id(number, owner)); },
                          between_questions))
        return 1;
    if (count == 0 && !test::succeeds([&] { return is_empty(self, *node); }, between_questions))
      return 1;
    const auto took = std::chrono::steady_clock::now() - began;
    std::printf(
        "up %ld\n",
        static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
    std::fflush(stdout);

    int received = 0;
    sigwait(&signals, &received);
    self.request(*node, 30s, client::client_actor::Stop{})
        .receive([](const client::client_actor::Stopped&) {}, [](const Error&) {});
  }
  actor::stop(servers);
  return 0;
}
