// ExecProcess: a command beside a task, in a process of its own: its streams, its terminal, its
// end. Carries no more of its output than was taken. Internal to the SDK.
//
// Threads: the plugin's one. It lives as long as somebody watches it or holds it, and kills what is
// left with its end.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "runtime/plugin/sdk/kinds.hpp"

namespace nomad::plugin {

class ExecProcess final : public Command, public std::enable_shared_from_this<ExecProcess> {
public:
  static Result<std::shared_ptr<ExecProcess>> start(Agent& agent,
                                                    const ExecPlan& plan,
                                                    bool tty,
                                                    CommandTold told);
  ~ExecProcess() override;
  ExecProcess(const ExecProcess&) = delete;
  ExecProcess& operator=(const ExecProcess&) = delete;

  void input(std::string_view bytes, bool last) override;
  void resize(unsigned rows, unsigned columns) override;
  void taken(std::size_t bytes) override;
  void close() override;

private:
  explicit ExecProcess(Agent& agent, CommandTold told) : agent_{agent}, told_{std::move(told)} {}

  Result<> run(const ExecPlan& plan, bool tty);
  void watch();
  void read(unsigned stream);
  void end_output(unsigned stream);
  void write();
  void reap();
  void give_up_output();
  void finish();
  void kill() const;

  Agent& agent_;
  CommandTold told_;
  pid_t pid_ = 0;  ///< 0: it is over.
  bool tty_ = false;
  std::array<int, 3> streams_{-1, -1, -1};  ///< Input, output (or the terminal), errors; our ends.
  int process_ = -1;                        ///< A pidfd.
  std::string waiting_;                     ///< Input that it has not read.
  bool input_ends_ = false;
  std::size_t untaken_ = 0;
  int status_ = 0;
  bool has_ended_ = false;
  bool told_end_ = false;
};

}  // namespace nomad::plugin
