// Questions of servers to nodes, as tests ask them: anybody does, unless they say who.
#pragma once

#include <string_view>

#include "actors/roles/node_questions.hpp"
#include "test/support/anybody.hpp"

namespace nomad::test {

template <class Fill>
door::NodeAsk about_alloc(std::string_view alloc_id, const access::Principal& who, Fill fill) {
  return door::make_node_ask("n", who, [&](auto& ask) {
    ask.setAllocId(text(alloc_id));
    fill(ask);
  });
}

inline door::NodeAsk restart_tasks(std::string_view alloc_id,
                                   std::string_view task,
                                   bool all = false,
                                   const access::Principal& who = anybody_at()) {
  return about_alloc(alloc_id, who, [&](auto& ask) {
    auto order = ask.initRestartTasks();
    order.setTask(text(task));
    order.setAll(all);
  });
}

inline door::NodeAsk signal_tasks(std::string_view alloc_id,
                                  std::string_view task,
                                  std::string_view signal,
                                  const access::Principal& who = anybody_at()) {
  return about_alloc(alloc_id, who, [&](auto& ask) {
    auto order = ask.initSignalTasks();
    order.setTask(text(task));
    order.setSignal(text(signal));
  });
}

inline door::NodeAsk pause_task(std::string_view alloc_id,
                                std::string_view task,
                                schema::TaskScheduleOrder order,
                                const access::Principal& who = anybody_at()) {
  return about_alloc(alloc_id, who, [&](auto& ask) {
    auto pause = ask.initPauseTask();
    pause.setTask(text(task));
    pause.setOrder(order);
  });
}

inline door::NodeAsk read_pause(std::string_view alloc_id,
                                std::string_view task,
                                const access::Principal& who = anybody_at()) {
  return about_alloc(alloc_id, who, [&](auto& ask) { ask.setReadPause(text(task)); });
}

/// `task` empty: of all.
inline door::NodeAsk read_usage(std::string_view alloc_id,
                                std::string_view task = {},
                                const access::Principal& who = anybody_at()) {
  return about_alloc(alloc_id, who, [&](auto& ask) { ask.setReadAllocUsage(text(task)); });
}

inline door::NodeAsk read_checks(std::string_view alloc_id,
                                 const access::Principal& who = anybody_at()) {
  return about_alloc(alloc_id, who, [](auto& ask) { ask.setReadChecks(); });
}

inline door::NodeAsk read_identities(std::string_view alloc_id,
                                     const access::Principal& who = anybody_at()) {
  return about_alloc(alloc_id, who, [](auto& ask) { ask.setReadIdentities(); });
}

inline door::NodeAsk read_host_usage(const access::Principal& who = anybody_at()) {
  return door::make_node_ask("n", who, [](auto& ask) { ask.setReadHostUsage(); });
}

inline door::NodeAsk read_history(std::string_view alloc_id,
                                  std::string_view task = {},
                                  const access::Principal& who = anybody_at()) {
  return about_alloc(alloc_id, who, [&](auto& ask) { ask.setReadUsageHistory(text(task)); });
}

inline door::NodeAsk read_host_history(const access::Principal& who = anybody_at()) {
  return door::make_node_ask("n", who, [](auto& ask) { ask.setReadHostUsageHistory(); });
}

inline door::NodeAsk collect_alloc(std::string_view alloc_id,
                                   const access::Principal& who = anybody_at()) {
  return about_alloc(alloc_id, who, [](auto& ask) { ask.setCollectAlloc(); });
}

inline door::NodeAsk collect_garbage(const access::Principal& who = anybody_at()) {
  return door::make_node_ask("n", who, [](auto& ask) { ask.setCollectGarbage(); });
}

}  // namespace nomad::test
