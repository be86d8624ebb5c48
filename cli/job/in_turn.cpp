#include "cli/job/in_turn.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>
#include <vector>

namespace nomad::cli {

std::string in_turn(std::size_t count,
                    std::size_t most,
                    const std::function<void(std::size_t worker, std::size_t i)>& work,
                    const StartThread& start) {
  std::atomic<std::size_t> next{0};
  const auto take_all = [&](std::size_t worker) {
    for (auto i = next++; i < count; i = next++)
      work(worker, i);
  };
  const auto wanted = std::min(count, most);
  std::vector<std::thread> others;
  others.reserve(wanted);
  std::string lack;
  try {
    while (others.size() + 1 < wanted)
      others.push_back(start([&take_all, worker = others.size() + 1] { take_all(worker); }));
  } catch (const std::system_error& err) {
    lack = err.what();
  }
  take_all(0);
  for (auto& each : others)
    each.join();
  return lack;
}

}  // namespace nomad::cli
