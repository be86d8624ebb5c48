// in_turn: the same work on many things, a bounded number of them at once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace nomad::cli {

/// Starts a thread; std::system_error when the system has none.
using StartThread = std::function<std::thread(std::function<void()> run)>;

/// Calls `work(worker, i)` for each i below `count`, at most `most` (at least 1) of them at once,
/// on the caller's thread and on others, which take them in turn; returns when all are done. What
/// has the same number `worker`, below `most`, is called one after the other. `work` does not
/// throw. Where threads can't be started, fewer do all of the work: why is returned, or "".
std::string in_turn(
    std::size_t count,
    std::size_t most,
    const std::function<void(std::size_t worker, std::size_t i)>& work,
    const StartThread& start
    = [](std::function<void()> run) { return std::thread{std::move(run)}; });

}  // namespace nomad::cli
