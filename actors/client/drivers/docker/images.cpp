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
#include "runtime/docker/registry_auth.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/net/http/http_client.hpp"

namespace nomad::client {
namespace {

using docker::EngineAnswer;

constexpr auto pull_news_interval = std::chrono::minutes{2};
constexpr auto image_removal_pause = std::chrono::seconds{3};
constexpr int image_removal_tries = 3;
constexpr auto load_time = std::chrono::minutes{30};
constexpr std::size_t archive_piece = 256 * 1024;

std::string image_path(const std::string& name) {
  // A name has slashes of its own, which stand for themselves.
  std::string path = "/images/";
  for (const char c : name)
    path += c == '/' ? std::string(1, c) : docker::escape_target({&c, 1});
  return path + "/json";
}

/// Sends an archive to the engine. Blocks.
Result<std::string> send_archive(const ImageWish& wish,
                                 const std::string& socket,
                                 const std::string& api) {
  const auto root = host::Beneath::open(wish.archive_root, false);
  if (!root) return root.error().within("unable to open image archive");
  const auto file = root->open_file(wish.archive);
  if (!file) return file.error().within("unable to open image archive");
  auto client = NOMAD_TRY(net::HttpClient::make({.address = "unix://" + socket,
                                                 .answer_timeout = load_time,
                                                 .body_bytes = 16 * 1024 * 1024}));
  std::uint64_t left = file->size;
  net::ClientRequest request{.method = "POST",
                             .target = fmt::format("/v{}/images/load?quiet=1", api),
                             .headers = {{"Content-Type", "application/x-tar"}}};
  request.pieces_size = file->size;
  request.next_piece = [&]() -> Result<std::string> {
    std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(left, archive_piece)), '\0');
    if (piece.empty()) return piece;
    const auto got = ::read(file->descriptor.get(), piece.data(), piece.size());
    if (got <= 0) return Error{Errc::io, "reading the image archive failed"};
    piece.resize(static_cast<std::size_t>(got));
    left -= static_cast<std::uint64_t>(got);
    return piece;
  };
  auto answer = NOMAD_TRY(client.send(request));
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

/// The header for a pull; "" without pull_credentials. Blocks.
Result<std::string> pull_credentials(const ImageWish& wish, const docker::AgentSettings& settings) {
  docker::AuthSources sources{.task = wish.auth, .config_file = {}, .helper = settings.auth_helper};
  if (!settings.auth_config.empty() && wish.auth.empty()) {
    sources.config_file = read_auth_file(settings.auth_config);
    if (sources.config_file.empty())
      return Error{
          Errc::not_found,
          fmt::format("Failed to open auth config file: {}, error: it is not there or empty",
                      settings.auth_config)};
  }
  const auto found
      = NOMAD_TRY(docker::find_auth(sources, wish.name, docker::run_credential_helper));
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

void DockerImages::fail(const Done& done, Error err, bool recoverable) {
  const ImageFailure failure{std::move(err), recoverable};
  done({}, &failure);
}

// -- getting --------------------------------------------------------------------------------------

void DockerImages::get(const ImageWish& wish, Done done) {
  asking_.insert(wish.user);
  gone_.erase(wish.user);
  // Whoever is forgotten meanwhile hears nothing.
  const Done tell = [this, user = wish.user, done = std::move(done)](const std::string& id,
                                                                     const ImageFailure* failure) {
    asking_.erase(user);
    if (gone_.erase(user) > 0) return;
    if (failure == nullptr) keep(id, user);
    done(id, failure);
  };
  // "latest" may be another one by now.
  const bool looks = !wish.force_pull && (wish.name.tag != "latest" || !wish.name.digest.empty());
  if (looks) return look(wish, tell, false);
  if (!wish.archive.empty() && !wish.force_pull) return load(wish, tell);
  find_auth(wish, tell);
}

/// Whether it is here. `is_last`: nothing else is tried.
void DockerImages::look(const ImageWish& wish, const Done& done, bool is_last) {
  desk_.ask({.target = image_path(wish.name.text())},
            [this, wish, done, is_last](Result<EngineAnswer>& answer) {
              if (answer) {
                const auto id = docker::read_image_id(answer->body);
                if (id) return done(*id, nullptr);
                return fail(done, id.error(), true);
              }
              if (is_away(answer.error()) || is_last)
                return fail(done, answer.error(), is_away(answer.error()));
              if (!wish.archive.empty()) return load(wish, done);
              find_auth(wish, done);
            });
}

void DockerImages::load(const ImageWish& wish, const Done& done) {
  desk_.work<std::string>([wish, socket = desk_.engine().socket(),
                           api = desk_.engine().api()] { return send_archive(wish, socket, api); },
                          [this, wish, done](const Result<std::string>& sent) {
                            if (!sent) return fail(done, sent.error(), is_away(sent.error()));
                            look(wish, done, true);
                          });
}

void DockerImages::find_auth(const ImageWish& wish, const Done& done) {
  const auto& settings = desk_.settings();
  if (wish.auth.empty() && settings.auth_config.empty() && settings.auth_helper.empty())
    return pull(wish, done, {});
  desk_.work<std::string>(
      [wish, settings] { return pull_credentials(wish, settings); },
      [this, wish, done](const Result<std::string>& found) {
        const auto& repository = wish.name.repository;
        if (!found && !wish.auth_soft_fail)
          return fail(
              done,
              {found.error().code, fmt::format("Failed to find docker auth for repo \"{}\": {}",
                                               repository, found.error().what)},
              false);
        if (!found)
          log::warn("client", "docker: no pull_credentials for {}: {}", repository,
                    found.error().what);
        pull(wish, done, found.value_or(std::string{}));
      });
}

// -- pulling --------------------------------------------------------------------------------------

void DockerImages::pull(const ImageWish& wish, const Done& done, const std::string& auth) {
  if (gone_.contains(wish.user)) return done({}, nullptr);
  desk_.tell(wish.task, "Downloading image");
  const auto key = wish.name.text();
  const auto found = pulls_.find(key);
  if (found != pulls_.end()) {
    found->second.waiters.push_back({wish, done});
    return;
  }
  auto& pull = pulls_[key];
  pull.number = ++numbers_;
  pull.waiters.push_back({wish, done});
  begin_pull(key, wish, auth);
}

void DockerImages::begin_pull(const std::string& key,
                              const ImageWish& wish,
                              const std::string& auth) {
  auto& pull = pulls_.at(key);
  const auto number = pull.number;
  const auto& which = wish.name.digest.empty() ? wish.name.tag : wish.name.digest;
  docker::EngineRequest request{.method = "POST",
                                .target = fmt::format("/images/create?fromImage={}&tag={}",
                                                      docker::escape_target(wish.name.repository),
                                                      docker::escape_target(which))};
  if (!auth.empty()) request.headers.push_back({"X-Registry-Auth", auth});
  using std::chrono::milliseconds;
  const auto silence
      = std::chrono::duration_cast<milliseconds>(desk_.settings().pull_activity_timeout);
  pull.progress = std::make_shared<SharedProgress>();
  const auto progress = pull.progress;
  pull.call = desk_.follow(
      std::move(request),
      {.header = silence,
       .silence = silence,
       .whole = std::chrono::duration_cast<milliseconds>(wish.timeout)},
      [progress](std::string_view bytes) { return progress->take(bytes); },
      [this, key, number, progress](const docker::EngineOutcome& answer) {
        if (!answer) return pull_ended(key, number, answer.error(), answer.refusal.kind);
        if (const auto failure = progress->failure(); !failure.empty())
          return pull_ended(key, number, Error{Errc::rejected, failure},
                            docker::engine_error_kind(failure));
        pull_ended(key, number, {});
      });
  desk_.after(pull_news_interval, [this, key, number] { tell_progress(key, number); });
}

void DockerImages::tell_progress(const std::string& key, std::uint64_t number) {
  const auto found = pulls_.find(key);
  if (found == pulls_.end() || found->second.number != number) return;
  std::set<driver::TaskId> told;
  for (const auto& waiter : found->second.waiters)
    if (told.insert(waiter.wish.task).second)
      desk_.tell(waiter.wish.task,
                 "Docker image pull progress: " + found->second.progress->summary());
  desk_.after(pull_news_interval, [this, key, number] { tell_progress(key, number); });
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
      fail(waiter.done, err, why != docker::EngineError::Kind::image_missing);
    return;
  }
  for (const auto& waiter : waiters)
    look(waiter.wish, waiter.done, true);
}

void DockerImages::forget(const std::string& user) {
  if (!asking_.contains(user)) return;
  gone_.insert(user);
  for (auto each = pulls_.begin(); each != pulls_.end();) {
    auto& [key, pull] = *each;
    std::vector<Waiter> left;
    std::vector<Waiter> leaving;
    for (auto& waiter : pull.waiters)
      (waiter.wish.user == user ? leaving : left).push_back(std::move(waiter));
    pull.waiters = std::move(left);
    if (pull.waiters.empty()) {
      desk_.engine().cancel(pull.call);
      each = pulls_.erase(each);
    } else {
      ++each;
    }
    for (const auto& waiter : leaving)
      waiter.done({}, nullptr);
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
  if (!desk_.settings().removes_images)
    std::erase_if(kept_, [](const auto& entry) { return entry.second.users.empty(); });
}

void DockerImages::plan_removal(const std::string& id) {
  if (!desk_.settings().removes_images) return;
  const auto removal = ++numbers_;
  kept_.at(id).removal = removal;
  desk_.after(desk_.settings().image_delay, [this, id, removal] { remove(id, removal, 1); });
}

void DockerImages::remove(const std::string& id, std::uint64_t removal, int tries) {
  const auto found = kept_.find(id);
  if (found == kept_.end() || found->second.removal != removal) return;
  desk_.ask({.method = "DELETE", .target = "/images/" + docker::escape_target(id)},
            [this, id, removal, tries](Result<EngineAnswer>& answer) {
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
              desk_.after(image_removal_pause,
                          [this, id, removal, tries] { remove(id, removal, tries + 1); });
            });
}

}  // namespace nomad::client
