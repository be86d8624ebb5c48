// What the sockets of tasks take while nobody asks: private memory of each, and processor time.
//
// usage: task_socket_bench [SOCKETS [SECONDS]]        1,000 for 20 s
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <sys/resource.h>

#include "actors/client/tools/task_sockets.hpp"
#include "runtime/host/task/task_socket.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;

namespace {

/// Of this process, in bytes.
double private_bytes() {
  std::ifstream file{"/proc/self/smaps_rollup"};
  double sum = 0;
  for (std::string name; file >> name;) {
    double kilobytes = 0;
    if (name == "Private_Clean:" || name == "Private_Dirty:") {
      file >> kilobytes;
      sum += 1024 * kilobytes;
    }
  }
  return sum;
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void refuse(net::Responder responder) {
  net::Response answer;
  answer.status = 401;
  responder.send(std::move(answer));
}

bool open_sockets(client::TaskSockets& sockets, const host::Beneath& root, int count) {
  for (int number = 0; number < count; ++number) {
    const auto directory = std::to_string(number);
    if (!root.make_directories(directory, 0700)) return false;
    auto made = host::listen_for_task(root, directory, "api.sock", {});
    if (!made) {
      std::fprintf(stderr, "%s\n", made.error().what.c_str());
      return false;
    }
    const auto name = client::TaskSockets::name_of(
        "00000000-0000-4000-8000-" + std::string(12 - directory.size(), '0') + directory, "task");
    sockets.add(name, net::Descriptor{made->listening.release()}, made->inode);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 1000;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 20;
  const test::TempDir directory;
  const auto root = host::Beneath::open(directory.path(), false);
  client::TaskSockets sockets{net::ServerOptions{}};
  if (!root || !sockets.serve(refuse) || !open_sockets(sockets, *root, 1)) return 1;
  std::this_thread::sleep_for(std::chrono::milliseconds{200});
  const auto memory = private_bytes();
  if (!open_sockets(sockets, *root, count)) return 1;
  std::this_thread::sleep_for(std::chrono::seconds{1});
  const auto each = (private_bytes() - memory) / count;
  const auto used = processor_seconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  std::printf("%d idle sockets of tasks: %.0f bytes of private memory each, %.3f %% of a core\n",
              count, each, 100 * (processor_seconds() - used) / seconds);
  return 0;
}
