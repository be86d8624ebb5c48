// A driver of Nomad's as its program serves it, in this process: each question is answered as a
// test says.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "driver.grpc.pb.h"
#include "runtime/plugin/bridge/wire.hpp"

namespace nomad::plugin::bridge {

class FakeProgram final : public drivers::Driver::Service {
public:
  using Status = grpc::Status;
  /// What is answered to one of these; by the number of times that it was asked before.
  using Answer = std::function<Status(int)>;

  static Status away() { return {grpc::StatusCode::UNAVAILABLE, "not now"}; }

  static Status unknown() { return {grpc::StatusCode::UNKNOWN, "task not found for given id"}; }

  static Status no() { return {grpc::StatusCode::UNKNOWN, "the process is gone"}; }

  explicit FakeProgram(std::string directory) : target_{"unix:" + directory + "/program"} {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(target_, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  ~FakeProgram() override { stop(); }

  /// What is asked of it then has failed.
  void stop() {
    ends_ = true;
    server_->Shutdown(std::chrono::system_clock::now());
  }

  const std::string& target() const { return target_; }

  void answers(const std::string& question, Answer answer) {
    const std::lock_guard lock{guard_};
    answers_[question] = std::move(answer);
  }

  int asked(const std::string& question) {
    const std::lock_guard lock{guard_};
    return asked_[question];
  }

  std::atomic<bool> is_silent{false};  ///< It does not say how it feels.
  std::atomic<bool> has_ended{false};  ///< Its tasks; until then WaitTask waits.

  Status Fingerprint(grpc::ServerContext* context,
                     const drivers::FingerprintRequest*,
                     grpc::ServerWriter<drivers::FingerprintResponse>* writer) override {
    while (is_silent && pause(context)) {
    }
    drivers::FingerprintResponse health;
    health.set_health(drivers::FingerprintResponse::HEALTHY);
    writer->Write(health);
    while (pause(context)) {
    }
    return Status::OK;
  }

  Status StartTask(grpc::ServerContext*,
                   const drivers::StartTaskRequest* request,
                   drivers::StartTaskResponse* response) override {
    *response->mutable_handle()->mutable_config() = request->task();
    return answer("StartTask");
  }

  Status RecoverTask(grpc::ServerContext*,
                     const drivers::RecoverTaskRequest*,
                     drivers::RecoverTaskResponse*) override {
    return answer("RecoverTask");
  }

  Status WaitTask(grpc::ServerContext* context,
                  const drivers::WaitTaskRequest*,
                  drivers::WaitTaskResponse* response) override {
    if (const auto status = answer("WaitTask"); !status.ok()) return status;
    while (!has_ended && pause(context)) {
    }
    response->mutable_result()->set_exit_code(3);
    return Status::OK;
  }

  Status DestroyTask(grpc::ServerContext*,
                     const drivers::DestroyTaskRequest*,
                     drivers::DestroyTaskResponse*) override {
    return answer("DestroyTask");
  }

private:
  bool pause(grpc::ServerContext* context) const {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    return !ends_ && !context->IsCancelled();
  }

  Status answer(const std::string& question) {
    const std::lock_guard lock{guard_};
    const int before = asked_[question]++;
    const auto found = answers_.find(question);
    return found == answers_.end() ? Status::OK : found->second(before);
  }

  std::string target_;
  std::mutex guard_;
  std::map<std::string, Answer> answers_;
  std::map<std::string, int> asked_;
  std::atomic<bool> ends_{false};
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace nomad::plugin::bridge
