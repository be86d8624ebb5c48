#include "actors/client/drivers/docker/infra.hpp"

#include <utility>

#include <sys/stat.h>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"

namespace nomad::client {
namespace {

using docker::EngineAnswer;
using docker::EngineOutcome;

constexpr int infra_tries = 5;
constexpr auto infra_pause = std::chrono::milliseconds{200};
constexpr int namespace_looks = 500;
constexpr auto namespace_pause = std::chrono::milliseconds{10};

/// Whether the process is in the namespace that the file stands for.
bool is_in_namespace(std::int64_t pid, const std::string& network_namespace) {
  struct stat of_process {};

  struct stat of_file {};

  return pid > 0 && ::stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &of_process) == 0
         && ::stat(network_namespace.c_str(), &of_file) == 0 && of_process.st_ino == of_file.st_ino
         && of_process.st_dev == of_file.st_dev;
}

std::string infra_path(const std::string& alloc_id) {
  return docker::container_path(docker::infra_name(alloc_id));
}

}  // namespace

void DockerInfra::join(const docker::InfraSpec& spec, Done done) {
  if (const auto leaving = leaving_.find(spec.alloc_id); leaving != leaving_.end()) {
    leaving->second.joins.push_back({spec, std::move(done)});
    return;
  }
  auto& joining = joining_[spec.alloc_id];
  joining.is_wanted = true;
  joining.waiters.push_back(std::move(done));
  if (joining.waiters.size() > 1) return;
  joining.spec = spec;
  look(spec.alloc_id);
}

void DockerInfra::look(const std::string& alloc_id) {
  context_.ask({.target = infra_path(alloc_id) + "/json"},
               [this, alloc_id](const EngineOutcome& answer) {
                 if (!answer && answer.error().code == Errc::not_found) return make(alloc_id, 1);
                 if (!answer) return fail(alloc_id, answer);
                 const auto container = docker::read_container(answer->body);
                 if (!container) return fail(alloc_id, Result<EngineAnswer>{container.error()});
                 found(alloc_id, *container);
               });
}

void DockerInfra::found(const std::string& alloc_id, const docker::Container& container) {
  const auto joining = joining_.find(alloc_id);
  if (joining == joining_.end()) return;
  const auto& spec = joining->second.spec;
  const auto owner = container.labels.find(docker::label::agent);
  if (owner == container.labels.end() || owner->second != spec.agent)
    return finish(alloc_id, Error{Errc::conflict, fmt::format("container {} is another agent's",
                                                              docker::infra_name(alloc_id))});
  if (!container.running) return replace(alloc_id, 1);
  compare(alloc_id, container.pid, [this, alloc_id, id = container.id](bool is_inside) {
    if (is_inside) return finish(alloc_id, id);
    replace(alloc_id, 1);
  });
}

/// Whether the process is in the allocation's namespace.
void DockerInfra::compare(const std::string& alloc_id,
                          std::int64_t pid,
                          std::function<void(bool)> then) {
  context_.work<bool>(
      [pid, path = joining_.at(alloc_id).spec.network_namespace]() -> Result<bool> {
        return is_in_namespace(pid, path);
      },
      [then = std::move(then)](const Result<bool>& is_inside) { then(is_inside.value_or(false)); });
}

void DockerInfra::replace(const std::string& alloc_id, int tries) {
  context_.ask(docker::removal_of(docker::infra_name(alloc_id)),
               [this, alloc_id, tries](const EngineOutcome& answer) {
                 if (!answer && docker::is_away(answer.error())) return fail(alloc_id, answer);
                 make(alloc_id, tries);
               });
}

void DockerInfra::make(const std::string& alloc_id, int tries) {
  const auto joining = joining_.find(alloc_id);
  if (joining == joining_.end()) return;
  context_.ask({.method = "POST",
                .target = "/containers/create?name=" + percent_encode(docker::infra_name(alloc_id)),
                .body = boost::json::serialize(docker::infra_body(joining->second.spec))},
               [this, alloc_id, tries](const EngineOutcome& answer) {
                 if (!answer && answer.error().code == Errc::conflict && tries < infra_tries)
                   return context_.after(infra_pause,
                                         [this, alloc_id, tries] { replace(alloc_id, tries + 1); });
                 if (!answer) return fail(alloc_id, answer);
                 const auto id = docker::read_created(answer->body);
                 if (!id) return fail(alloc_id, Result<EngineAnswer>{id.error()});
                 start(alloc_id, *id);
               });
}

void DockerInfra::start(const std::string& alloc_id, const std::string& id) {
  context_.ask({.method = "POST", .target = docker::container_path(id) + "/start"},
               [this, alloc_id, id](const EngineOutcome& answer) {
                 if (!answer) return fail(alloc_id, answer);
                 await_namespace(alloc_id, id, 0);
               });
}

/// Those that join before it has entered the namespace would be in another one.
void DockerInfra::await_namespace(const std::string& alloc_id, const std::string& id, int looks) {
  context_.ask({.target = docker::container_path(id) + "/json"},
               [this, alloc_id, id, looks](const EngineOutcome& answer) {
                 if (!answer) return fail(alloc_id, answer);
                 const auto container = docker::read_container(answer->body);
                 if (!container) return fail(alloc_id, Result<EngineAnswer>{container.error()});
                 compare(alloc_id, container->pid,
                         [this, alloc_id, container = *container, looks](bool is_inside) {
                           judge(alloc_id, container, looks, is_inside);
                         });
               });
}

void DockerInfra::judge(const std::string& alloc_id,
                        const docker::Container& container,
                        int looks,
                        bool is_inside) {
  if (is_inside) return finish(alloc_id, container.id);
  if (!container.running || looks >= namespace_looks)
    return finish(
        alloc_id,
        Error{Errc::rejected,
              fmt::format("container {} did not enter the group's network{}: its exit code is {}",
                          docker::infra_name(alloc_id), container.running ? " in time" : "",
                          container.exit_code)});
  context_.after(namespace_pause, [this, alloc_id, id = container.id, looks] {
    await_namespace(alloc_id, id, looks + 1);
  });
}

void DockerInfra::fail(const std::string& alloc_id, const EngineOutcome& answer) {
  finish(alloc_id, answer.error(), docker::is_away(answer.error()) || answer.refusal.may_pass());
}

void DockerInfra::finish(const std::string& alloc_id,
                         const Result<std::string>& id,
                         bool may_pass) {
  const auto ended = joining_.extract(alloc_id);
  if (ended.empty()) return;
  const auto& joining = ended.mapped();
  for (const auto& done : joining.waiters)
    done(id, may_pass);
  for (const auto& done : joining.leavers)
    joining.is_wanted ? context_.caller()(done) : leave(alloc_id, done);
}

void DockerInfra::leave(const std::string& alloc_id, DockerContext::Action done) {
  if (const auto joining = joining_.find(alloc_id); joining != joining_.end()) {
    joining->second.is_wanted = false;
    joining->second.leavers.push_back(std::move(done));
    return;
  }
  auto& leaving = leaving_[alloc_id];
  leaving.leavers.push_back(std::move(done));
  if (leaving.leavers.size() > 1) return;
  context_.ask(docker::removal_of(docker::infra_name(alloc_id)), [this, alloc_id](
                                                                     const EngineOutcome& answer) {
    if (!answer && answer.error().code != Errc::not_found)
      log::warn("client", "docker: the container of allocation {}'s network is left: {}",
                short_id(alloc_id), answer.error().what);
    const auto left = leaving_.extract(alloc_id);
    if (left.empty()) return;
    for (const auto& leaver : left.mapped().leavers)
      leaver();
    for (const auto& [spec, joined] : left.mapped().joins)
      join(spec, joined);
  });
}

}  // namespace nomad::client
