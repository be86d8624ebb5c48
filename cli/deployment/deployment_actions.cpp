// deployment promote, fail, pause, resume, unblock: steering a deployment.
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/lookup.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

struct DeploymentCommand : Action {
  std::string id;

  using Action::Action;

  std::optional<int> start(const std::vector<std::string>& arguments) {
    if (auto code = ApiCommand::start(arguments, one_word("<deployment id>"))) return code;
    auto found = find_by_prefix(*api, deployment_kind, positional()[0], verbose);
    if (!found) return fail(found.error());
    id = found->view()["ID"].text();
    return std::nullopt;
  }

  Result<Answer> pause(bool paused) {
    return api->put("/v1/deployment/pause/" + id,
                    boost::json::object{{"DeploymentID", id}, {"Pause", paused}});
  }
};

}  // namespace

boost::json::value promotion_of(const std::string& deployment_id,
                                const std::vector<std::string>& groups) {
  boost::json::object body{{"DeploymentID", deployment_id}, {"All", groups.empty()}};
  if (!groups.empty()) body["Groups"] = boost::json::array(groups.begin(), groups.end());
  return body;
}

Result<int> run_deployment_promote(const std::vector<std::string>& arguments) {
  DeploymentCommand command{"deployment promote [options] <deployment id>",
                            "Promotes the canaries of a deployment."};
  command.add_detach();
  auto& groups = command.list("group", "Only this group; may stand several times.");
  if (auto code = command.start(arguments)) return *code;
  auto answer = NOMAD_TRY(
      command.api->put("/v1/deployment/promote/" + command.id, promotion_of(command.id, groups))
          .within("Error promoting deployment"));
  return command.end(answer.view()["EvalID"].text());
}

Result<int> run_deployment_fail(const std::vector<std::string>& arguments) {
  DeploymentCommand command{"deployment fail [options] <deployment id>",
                            "Ends a deployment as failed; its job may go back to a version that "
                            "worked."};
  command.add_detach();
  if (auto code = command.start(arguments)) return *code;
  auto answer = NOMAD_TRY(command.api->put("/v1/deployment/fail/" + command.id, nullptr)
                              .within("Error failing deployment"));
  const auto reverted = answer.view()["RevertedJobVersion"];
  std::cout << fmt::format("Deployment \"{}\" failed", command.id);
  if (!reverted.is_null())
    std::cout << fmt::format(". Auto-reverted to job version {}.", reverted.number());
  std::cout << '\n';
  const auto eval_id = answer.view()["EvalID"].text();
  if (!eval_id.empty() && !command.detach) std::cout << '\n';
  return command.end(eval_id);
}

Result<int> run_deployment_pause(const std::vector<std::string>& arguments) {
  DeploymentCommand command{"deployment pause [options] <deployment id>", "Halts a deployment."};
  if (auto code = command.start(arguments)) return *code;
  NOMAD_TRY(command.pause(true).within("Error pausing deployment"));
  std::cout << fmt::format("Deployment \"{}\" paused\n", command.id);
  return 0;
}

Result<int> run_deployment_unblock(const std::vector<std::string>& arguments) {
  DeploymentCommand command{"deployment unblock [options] <deployment id>",
                            "Ends the wait of a deployment for those of other regions."};
  command.add_detach();
  if (auto code = command.start(arguments)) return *code;
  auto answer = NOMAD_TRY(command.api
                              ->put("/v1/deployment/unblock/" + command.id,
                                    boost::json::object{{"DeploymentID", command.id}})
                              .within("Error unblocking deployment"));
  std::cout << fmt::format("Deployment \"{}\" unblocked\n", command.id);
  const auto eval_id = answer.view()["EvalID"].text();
  if (!eval_id.empty() && !command.detach) std::cout << '\n';
  return command.end(eval_id);
}

Result<int> run_deployment_resume(const std::vector<std::string>& arguments) {
  DeploymentCommand command{"deployment resume [options] <deployment id>",
                            "Lets a paused deployment go on."};
  command.add_detach();
  if (auto code = command.start(arguments)) return *code;
  auto answer = NOMAD_TRY(command.pause(false).within("Error resuming deployment"));
  std::cout << fmt::format("Deployment \"{}\" resumed\n", command.id);
  const auto eval_id = answer.view()["EvalID"].text();
  if (!eval_id.empty() && !command.detach) std::cout << '\n';
  return command.end(eval_id);
}

}  // namespace nomad::cli
