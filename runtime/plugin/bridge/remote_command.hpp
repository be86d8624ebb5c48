// RemoteCommand: a command beside a task, which the task's driver runs: its bytes over one stream
// of gRPC's in both directions, in turns.
//
// Threads: the plugin's, but for what gRPC calls. It keeps itself until gRPC is done with it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/support/client_callback.h>

#include "runtime/plugin/bridge/remote.hpp"
#include "runtime/plugin/sdk/kinds.hpp"

namespace nomad::plugin::bridge {

class RemoteCommand final : public Command,
                            public grpc::ClientBidiReactor<drivers::ExecTaskStreamingRequest,
                                                           drivers::ExecTaskStreamingResponse> {
public:
  static std::shared_ptr<RemoteCommand> start(Remote& remote,
                                              const std::string& task_id,
                                              const std::vector<std::string>& command,
                                              bool tty,
                                              CommandTold told);

  void input(std::string_view bytes, bool last) override;
  void resize(unsigned rows, unsigned columns) override;
  void taken(std::size_t bytes) override;
  void close() override;

  void OnReadDone(bool is_there) override;
  void OnWriteDone(bool is_done) override;
  void OnDone(const grpc::Status& status) override;

private:
  struct Output {
    std::string waiting{};
    bool is_last = false;    ///< Nothing comes behind what waits.
    bool has_ended = false;  ///< That was told.
  };

  RemoteCommand(Turns turns, CommandTold told) : turns_{std::move(turns)}, told_{std::move(told)} {}

  void send(drivers::ExecTaskStreamingRequest message);
  void write_next();
  void wrote(bool is_done);
  void read();
  void read_last();
  void let_go();
  void tell(unsigned stream);
  void go_on();
  void finish();

  Turns turns_;
  CommandTold told_;
  grpc::ClientContext context_;
  drivers::ExecTaskStreamingResponse response_;
  drivers::ExecTaskStreamingRequest request_;  ///< That is being written.
  std::deque<drivers::ExecTaskStreamingRequest> waiting_;
  bool writes_ = false;
  bool reads_ = true;     ///< A read is under way, or nothing more is to be read.
  bool is_over_ = false;  ///< Nothing more is written.
  bool has_read_all_ = false;
  bool is_held_ = true;   ///< gRPC waits for more to be read or written.
  bool is_done_ = false;  ///< gRPC is through.
  std::size_t untaken_ = 0;
  Output outputs_[2];
  std::optional<CommandEnd> end_;
  std::shared_ptr<RemoteCommand> self_;
};

}  // namespace nomad::plugin::bridge
