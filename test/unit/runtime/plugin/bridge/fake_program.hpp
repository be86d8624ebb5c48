// A driver of Nomad's as its program serves it, in this process: each question is answered as a
// test says.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

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
    change([this] { ends_ = true; });
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

  /// Whether it says how it feels.
  void be_silent(bool is) {
    change([this, is] { is_silent_ = is; });
  }

  /// Lets its tasks end, for which WaitTask waits.
  void end_tasks() {
    change([this] { tasks_end_ = true; });
  }

  Status Fingerprint(grpc::ServerContext*,
                     const drivers::FingerprintRequest*,
                     grpc::ServerWriter<drivers::FingerprintResponse>* writer) override {
    wait_until([this] { return !is_silent_; });
    drivers::FingerprintResponse health;
    health.set_health(drivers::FingerprintResponse::HEALTHY);
    writer->Write(health);
    wait_until([] { return false; });
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

  Status WaitTask(grpc::ServerContext*,
                  const drivers::WaitTaskRequest*,
                  drivers::WaitTaskResponse* response) override {
    if (const auto status = answer("WaitTask"); !status.ok()) return status;
    wait_until([this] { return tasks_end_; });
    response->mutable_result()->set_exit_code(3);
    return Status::OK;
  }

  Status DestroyTask(grpc::ServerContext*,
                     const drivers::DestroyTaskRequest*,
                     drivers::DestroyTaskResponse*) override {
    return answer("DestroyTask");
  }

  /// Again and again, whatever the interval.
  Status TaskStats(grpc::ServerContext* context,
                   const drivers::TaskStatsRequest*,
                   grpc::ServerWriter<drivers::TaskStatsResponse>* writer) override {
    if (const auto status = answer("TaskStats"); !status.ok()) return status;
    do
      writer->Write({});
    while (goes_on(context));
    return Status::OK;
  }

private:
  /// Whether this goes on to be asked, a moment later.
  bool goes_on(const grpc::ServerContext* context) {
    std::unique_lock lock{guard_};
    changed_.wait_for(lock, std::chrono::milliseconds{5}, [this] { return ends_; });
    return !ends_ && !context->IsCancelled();
  }

  template <class Change>
  void change(const Change& change) {
    const std::lock_guard lock{guard_};
    change();
    changed_.notify_all();
  }

  /// Or until the program ends.
  template <class Condition>
  void wait_until(const Condition& condition) {
    std::unique_lock lock{guard_};
    changed_.wait(lock, [&] { return ends_ || condition(); });
  }

  Status answer(const std::string& question) {
    Answer answers;  // called outside the lock: it may end the tasks
    int before = 0;
    {
      const std::lock_guard lock{guard_};
      before = asked_[question]++;
      if (const auto found = answers_.find(question); found != answers_.end())
        answers = found->second;
    }
    return answers ? answers(before) : Status::OK;
  }

  std::string target_;
  std::mutex guard_;
  std::map<std::string, Answer> answers_;
  std::map<std::string, int> asked_;
  std::condition_variable changed_;
  bool is_silent_ = false;
  bool tasks_end_ = false;
  bool ends_ = false;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace nomad::plugin::bridge
