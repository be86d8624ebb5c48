#include "actors/client/drivers/docker/images.hpp"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/log.hpp"
#include "runtime/base/text.hpp"
#include "runtime/docker/registry_auth.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/net/http/http_client.hpp"

namespace nomad::client {
namespace {

using docker::EngineOutcome;

constexpr auto pull_news_interval = std::chrono::minutes{2};
constexpr auto image_removal_pause = std::chrono::seconds{3};
constexpr int image_removal_tries = 3;
constexpr auto load_time = std::chrono::minutes{30};
constexpr std::size_t archive_piece = 256 * 1024;

/// A name has slashes of its own, which stand for themselves.
std::string image_path(const std::string& name) {
  return "/images/" + percent_encode(name, "/") + "/json";
}

/// Sends an archive to the engine. Blocks.
Result<std::string> send_archive(const ImageRequest& request,
                                 const std::string& socket,
                                 const std::string& api) {
  const auto root = host::Beneath::open(request.archive_root, false);
  if (!root) return root.error().within("unable to open image archive");
  const auto file = root->open_file(request.archive);
  if (!file) return file.error().within("unable to open image archive");
  auto client = NOMAD_TRY(net::HttpClient::make({.address = "unix://" + socket,
                                                 .answer_timeout = load_time,
                                                 .body_bytes = 16 * 1024 * 1024}));
  std::uint64_t left = file->size;
  net::ClientRequest sent{.method = "POST",
                          .target = fmt::format("/v{}/images/load?quiet=1", api),
                          .headers = {{"Content-Type", "application/x-tar"}}};
  sent.pieces_size = file->size;
  sent.next_piece = [&]() -> Result<std::string> {
    std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(left, archive_piece)), '\0');
    if (piece.empty()) return piece;
    const auto got = ::read(file->descriptor.get(), piece.data(), piece.size());
    if (got <= 0) return Error{Errc::io, "reading the image archive failed"};
    piece.resize(static_cast<std::size_t>(got));
    left -= static_cast<std::uint64_t>(got);
    return piece;
  };
  auto answer = NOMAD_TRY(client.send(sent));
  if (auto complaint = docker::engine_complaint({answer.status, answer.body}); !complaint.empty())
    return Error{Errc::rejected, std::move(complaint)};
  docker::PullProgress progress;
  NOMAD_TRY(progress.take(answer.body + "\n"));
  if (!progress.failure().empty()) return Error{Errc::rejected, progress.failure()};
  return std::string{};
}

std::string read_auth_file(const std::string& path) {
  std::ifstream file{path};
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

/// The header for a pull; "" without any. Blocks.
Result<std::string> pull_credentials(const ImageRequest& request,
                                     const docker::AgentSettings& settings) {
  docker::AuthSources sources{
      .task = request.auth, .config_file = {}, .helper = settings.auth_helper};
  if (!settings.auth_config.empty() && request.auth.empty()) {
    sources.config_file = read_auth_file(settings.auth_config);
    if (sources.config_file.empty())
      return Error{
          Errc::not_found,
          fmt::format("Failed to open auth config file: {}, error: it is not there or empty",
                      settings.auth_config)};
  }
  const auto found
      = NOMAD_TRY(docker::find_auth(sources, request.name, docker::run_credential_helper));
  return found ? docker::auth_header(*found) : std::string{};
}

}  // namespace

/// The engine's thread writes it, the actor's reads it.
struct DockerImages::SharedProgress {
  std::mutex mutex;
  docker::PullProgress progress;

  Result<> take(std::string_view bytes) {
    const std::lock_guard guard{mutex};
    return progress.take(bytes);
  }

  std::string failure() {
    const std::lock_guard guard{mutex};
    return progress.failure();
  }

  std::string summary() {
    const std::lock_guard guard{mutex};
    return progress.summary();
  }
};

// -- getting --------------------------------------------------------------------------------------

void DockerImages::get(const ImageRequest& request, Done done) {
  asking_.insert(request.user);
  // Whoever is forgotten meanwhile hears nothing.
  const Done tell = [this, user = request.user, done = std::move(done)](
                        const Result<std::string>& id, bool may_pass) {
    if (asking_.erase(user) == 0) return;
    if (id) keep(*id, user);
    done(id, may_pass);
  };
  // "latest" may be another one by now.
  const bool looks
      = !request.force_pull && (request.name.tag != "latest" || !request.name.digest.empty());
  if (looks) return look(request, tell, false);
  if (!request.archive.empty() && !request.force_pull) return load(request, tell);
  find_auth(request, tell);
}

/// Whether it is here. `is_last`: nothing else is tried.
void DockerImages::look(const ImageRequest& request, const Done& done, bool is_last) {
  context_.ask({.target = image_path(request.name.text())},
               [this, request, done, is_last](const EngineOutcome& answer) {
                 if (answer) {
                   return done(docker::read_image_id(answer->body), true);
                 }
                 if (docker::is_away(answer.error()) || is_last)
                   return done(answer.error(), docker::is_away(answer.error()));
                 if (!request.archive.empty()) return load(request, done);
                 find_auth(request, done);
               });
}

void DockerImages::load(const ImageRequest& request, const Done& done) {
  context_.work<std::string>(
      [request, socket = context_.settings().socket, api = context_.engine().api()] {
        return send_archive(request, socket, api);
      },
      [this, request, done](const Result<std::string>& sent) {
        if (!sent) return done(sent.error(), docker::is_away(sent.error()));
        look(request, done, true);
      });
}

void DockerImages::find_auth(const ImageRequest& request, const Done& done) {
  const auto& settings = context_.settings();
  if (request.auth.empty() && settings.auth_config.empty() && settings.auth_helper.empty())
    return pull(request, done, {});
  context_.work<std::string>(
      [request, settings] { return pull_credentials(request, settings); },
      [this, request, done](const Result<std::string>& found) {
        const auto& repository = request.name.repository;
        if (!found && !request.auth_soft_fail)
          return done(Error{found.error().code,
                            fmt::format("Failed to find docker auth for repo \"{}\": {}",
                                        repository, found.error().what)},
                      false);
        if (!found)
          log::warn("client", "docker: no credentials for {}: {}", repository, found.error().what);
        pull(request, done, found.value_or(std::string{}));
      });
}

// -- pulling --------------------------------------------------------------------------------------

void DockerImages::pull(const ImageRequest& request, const Done& done, const std::string& auth) {
  if (!asking_.contains(request.user)) return;
  context_.tell(request.task, "Downloading image");
  const auto key = request.name.text();
  const auto found = pulls_.find(key);
  if (found != pulls_.end()) {
    found->second.waiters.push_back({request, done});
    return;
  }
  auto& pull = pulls_[key];
  pull.number = ++numbers_;
  pull.waiters.push_back({request, done});
  begin_pull(key, request, auth);
}

void DockerImages::begin_pull(const std::string& key,
                              const ImageRequest& request,
                              const std::string& auth) {
  auto& pull = pulls_.at(key);
  const auto number = pull.number;
  const auto& which = request.name.digest.empty() ? request.name.tag : request.name.digest;
  docker::EngineRequest asked{
      .method = "POST",
      .target = fmt::format("/images/create?fromImage={}&tag={}",
                            percent_encode(request.name.repository), percent_encode(which))};
  if (!auth.empty()) asked.headers.push_back({"X-Registry-Auth", auth});
  using std::chrono::milliseconds;
  const auto silence
      = std::chrono::duration_cast<milliseconds>(context_.settings().pull_activity_timeout);
  pull.progress = std::make_shared<SharedProgress>();
  const auto progress = pull.progress;
  const auto ended = [this, key, number, progress](const docker::EngineOutcome& answer) {
    if (!answer) return pull_ended(key, number, answer.error(), answer.refusal.kind);
    if (const auto failure = progress->failure(); !failure.empty())
      return pull_ended(key, number, Error{Errc::rejected, failure},
                        docker::engine_error_kind(failure));
    pull_ended(key, number, {});
  };
  pull.call = context_.engine().follow(
      std::move(asked),
      {.header = silence,
       .silence = silence,
       .whole = std::chrono::duration_cast<milliseconds>(request.timeout)},
      {.piece = [progress](std::string_view bytes) { return progress->take(bytes); },
       .ended = context_.in_turn(ended)});
  context_.after(pull_news_interval, [this, key, number] { tell_progress(key, number); });
}

void DockerImages::tell_progress(const std::string& key, std::uint64_t number) {
  const auto found = pulls_.find(key);
  if (found == pulls_.end() || found->second.number != number) return;
  std::set<driver::TaskId> told;
  for (const auto& waiter : found->second.waiters)
    if (told.insert(waiter.request.task).second)
      context_.tell(waiter.request.task,
                    "Docker image pull progress: " + found->second.progress->summary());
  context_.after(pull_news_interval, [this, key, number] { tell_progress(key, number); });
}

void DockerImages::pull_ended(const std::string& key,
                              std::uint64_t number,
                              const Result<>& outcome,
                              docker::EngineError::Kind why) {
  const auto found = pulls_.find(key);
  if (found == pulls_.end() || found->second.number != number) return;
  const auto waiters = std::move(found->second.waiters);
  pulls_.erase(found);
  if (!outcome) {
    const Error err{outcome.error().code,
                    fmt::format("Failed to pull `{}`: {}", key, outcome.error().what)};
    for (const auto& waiter : waiters)
      waiter.done(err, why != docker::EngineError::Kind::image_missing);
    return;
  }
  for (const auto& waiter : waiters)
    look(waiter.request, waiter.done, true);
}

void DockerImages::forget(const std::string& user) {
  if (asking_.erase(user) == 0) return;
  for (auto each = pulls_.begin(); each != pulls_.end();) {
    auto& pull = each->second;
    std::erase_if(pull.waiters, [&user](const Waiter& it) { return it.request.user == user; });
    if (!pull.waiters.empty()) {
      ++each;
      continue;
    }
    context_.engine().cancel(pull.call);
    each = pulls_.erase(each);
  }
}

// -- keeping --------------------------------------------------------------------------------------

void DockerImages::keep(const std::string& id, const std::string& user) {
  auto& kept = kept_[id];
  kept.users.insert(user);
  kept.removal = 0;
}

void DockerImages::adopt(const std::string& id, const std::string& user) {
  if (!id.empty()) keep(id, user);
}

void DockerImages::release(const std::string& user) {
  for (auto& [id, kept] : kept_)
    if (kept.users.erase(user) > 0 && kept.users.empty()) plan_removal(id);
  if (!context_.settings().removes_images)
    std::erase_if(kept_, [](const auto& entry) { return entry.second.users.empty(); });
}

void DockerImages::plan_removal(const std::string& id) {
  if (!context_.settings().removes_images) return;
  const auto removal = ++numbers_;
  kept_.at(id).removal = removal;
  context_.after(context_.settings().image_delay, [this, id, removal] { remove(id, removal, 1); });
}

void DockerImages::remove(const std::string& id, std::uint64_t removal, int tries) {
  const auto found = kept_.find(id);
  if (found == kept_.end() || found->second.removal != removal) return;
  context_.ask({.method = "DELETE", .target = "/images/" + percent_encode(id)},
               [this, id, removal, tries](const EngineOutcome& answer) {
                 const auto kept = kept_.find(id);
                 if (kept == kept_.end() || kept->second.removal != removal) return;
                 // One that somebody else uses, or that is gone, is no business of ours.
                 const bool is_over = answer || answer.error().code == Errc::not_found
                                      || answer.error().code == Errc::conflict;
                 if (is_over || tries >= image_removal_tries) {
                   if (!is_over)
                     log::warn("client", "docker: image {} can't be removed: {}", id,
                               answer.error().what);
                   kept_.erase(kept);
                   return;
                 }
                 context_.after(image_removal_pause,
                                [this, id, removal, tries] { remove(id, removal, tries + 1); });
               });
}

}  // namespace nomad::client
