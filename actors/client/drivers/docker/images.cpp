#include "actors/client/drivers/docker/images.hpp"

#include <algorithm>
#include <mutex>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/docker/registry_auth.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/net/http/http_client.hpp"

namespace nomad::client {
namespace {

using docker::EngineOutcome;

constexpr auto load_time = std::chrono::minutes{30};
constexpr std::size_t archive_piece = 256 * 1024;

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
  return read_whole_file(path).value_or("");
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

struct DockerImages::Performer : EnginePerformer<Life> {
  using EnginePerformer::operator();

  auto ready(Round round) const {
    return [hear = hear, round](const Result<std::string>& what) {
      hear([&](Life& to) { to.machine.ready(round, what); });
    };
  }

  void tell(const std::string& user, std::string_view text) const {
    if (const auto waiter = life.waiters.find(user); waiter != life.waiters.end())
      context.tell(waiter->second.request.task, text);
  }

  void operator()(const docker::image_action::Load& action) const {
    context.work<std::string>(
        [request = life.waiters.at(action.user).request, socket = context.settings().socket,
         api = context.engine().api()] { return send_archive(request, socket, api); },
        ready(action.round));
  }

  void operator()(const docker::image_action::FindAuth& action) const {
    context.work<std::string>(
        [request = life.waiters.at(action.user).request, settings = context.settings()] {
          return pull_credentials(request, settings);
        },
        ready(action.round));
  }

  void operator()(const docker::image_action::Pull& action) const {
    using std::chrono::milliseconds;
    const auto silence
        = std::chrono::duration_cast<milliseconds>(context.settings().pull_activity_timeout);
    const auto progress = std::make_shared<SharedProgress>();
    const auto ended = [progress, heard = answered(action.round)](EngineOutcome& outcome) {
      if (const auto failure = progress->failure(); outcome && !failure.empty())
        outcome = {Error{Errc::rejected, failure}, {.kind = docker::engine_error_kind(failure)}};
      heard(outcome);
    };
    life.pulls[action.round] = progress;
    life.calls[action.round] = context.engine().follow(
        action.request,
        {.header = silence,
         .silence = silence,
         .whole = std::chrono::duration_cast<milliseconds>(action.timeout)},
        {.piece = [progress](std::string_view bytes) { return progress->take(bytes); },
         .ended = context.in_turn(ended)});
  }

  void operator()(const docker::image_action::TellUser& action) const {
    tell(action.user, action.text);
  }

  void operator()(const docker::image_action::TellProgress& action) const {
    const auto said = "Docker image pull progress: " + life.pulls.at(action.pull)->summary();
    for (const auto& user : action.users)
      tell(user, said);
  }

  void operator()(const docker::image_action::TellReady& action) const {
    if (const auto waiter = life.waiters.extract(action.user))
      waiter.mapped().done(action.image, action.may_pass);
  }
};

DockerImages::DockerImages(DockerContext& context)
    : context_{context},
      life_{{docker::ImageMachine{{.removes = context.settings().removes_images,
                                   .removal_delay = context.settings().image_delay}}}} {}

void DockerImages::hear(const std::function<void(Life&)>& event) {
  event(life_);
  perform_all(Performer{{context_, life_, [this](const auto& next) { hear(next); }}});
  std::erase_if(life_.pulls,
                [this](const auto& pull) { return !life_.calls.contains(pull.first); });
}

void DockerImages::get(const ImageRequest& request, Done done) {
  const auto& settings = context_.settings();
  hear([&](Life& life) {
    life.waiters[request.user] = {request, std::move(done)};
    life.machine.get({.user = request.user,
                      .name = request.name,
                      .force_pull = request.force_pull,
                      .has_archive = !request.archive.empty(),
                      .needs_auth = !request.auth.empty() || !settings.auth_config.empty()
                                    || !settings.auth_helper.empty(),
                      .auth_soft_fail = request.auth_soft_fail,
                      .timeout = request.timeout});
  });
}

void DockerImages::forget(const std::string& user) {
  hear([&](Life& life) {
    life.machine.forget(user);
    life.waiters.erase(user);
  });
}

void DockerImages::adopt(const std::string& id, const std::string& user) {
  hear([&](Life& life) { life.machine.adopt(id, user); });
}

void DockerImages::release(const std::string& user) {
  hear([&](Life& life) { life.machine.release(user); });
}

}  // namespace nomad::client
