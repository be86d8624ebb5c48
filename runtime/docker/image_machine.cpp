#include "runtime/docker/image_machine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::docker {
namespace {

constexpr auto news_interval = std::chrono::minutes{2};
constexpr auto removal_pause = std::chrono::seconds{3};

/// A name has slashes of its own, which stand for themselves.
EngineRequest image_inspection(const std::string& name) {
  return {.target = "/images/" + percent_encode(name, "/") + "/json"};
}

EngineRequest pull_of(const ImageName& name, const std::string& auth) {
  EngineRequest request{
      .method = "POST",
      .target = fmt::format("/images/create?fromImage={}&tag={}", percent_encode(name.repository),
                            percent_encode(name.digest.empty() ? name.tag : name.digest))};
  if (!auth.empty()) request.headers.push_back({"X-Registry-Auth", auth});
  return request;
}

/// Not pulled.
bool is_loaded(const ImageOrder& order) {
  return order.has_archive && !order.force_pull;
}

/// The entry that waits for this round, which ends the waiting; or the end.
template <class Map>
auto find_awaiting(Map& map, engine_action::Round round) {
  return std::ranges::find_if(
      map, [round](auto& entry) { return ends_wait(entry.second.round, round); });
}

}  // namespace

// -- orders ---------------------------------------------------------------------------------------

void ImageMachine::get(ImageOrder order) {
  const auto user = order.user;
  forget(user);
  auto& get = gets_[user] = {.order = std::move(order)};
  // "latest" may be another one by now.
  const auto& name = get.order.name;
  if (get.order.force_pull || (name.tag == "latest" && name.digest.empty())) return fetch(get);
  look(get);
}

void ImageMachine::forget(const std::string& user) {
  const auto get = gets_.extract(user);
  if (!get || get.mapped().state != State::pulling) return;
  const auto pull = pulls_.find(get.mapped().order.name.text());
  auto& users = pull->second.users;
  users.erase(user);
  if (!users.empty()) return;  // (2)
  act(engine_action::Withdraw{pull->second.round});
  pulls_.erase(pull);
}

void ImageMachine::adopt(const std::string& id, const std::string& user) {
  if (!id.empty()) keep(id, user);
}

void ImageMachine::release(const std::string& user) {
  for (auto& [id, kept] : kept_)
    if (kept.users.erase(user) > 0 && kept.users.empty() && kept.keeping == Keeping::used)
      delay(kept, traits_.removal_delay);
  if (!traits_.removes)
    std::erase_if(kept_, [](const auto& entry) { return entry.second.users.empty(); });
}

// -- answers --------------------------------------------------------------------------------------

void ImageMachine::answered(Round round, const EngineOutcome& outcome) {
  if (const auto get = find_awaiting(gets_, round); get != gets_.end())
    return looked(get->second, outcome);
  if (const auto pull = find_awaiting(pulls_, round); pull != pulls_.end())
    return pull_ended(std::string{pull->first}, outcome);
  if (const auto kept = find_awaiting(kept_, round); kept != kept_.end())
    removed(std::string{kept->first}, outcome);
}

void ImageMachine::ready(Round round, const Result<std::string>& what) {
  const auto found = find_awaiting(gets_, round);
  if (found == gets_.end()) return;
  auto& get = found->second;
  if (get.state == State::finding_auth) return found_auth(get, what);
  if (!what) return tell(get.order.user, what.error(), is_away(what.error()));
  look(get);
}

void ImageMachine::time_over(Round round) {
  if (const auto kept = find_awaiting(kept_, round); kept != kept_.end())
    return remove(kept->first, kept->second);
  for (auto& [name, pull] : pulls_)
    if (ends_wait(pull.news_round, round)) {
      act(image_action::TellProgress{pull.round, pull.users});
      act(engine_action::Wait{pull.news_round = next_round(), news_interval});
      return;
    }
}

// -- getting --------------------------------------------------------------------------------------

void ImageMachine::look(Get& get) {
  get.state = is_any_removing() ? State::held : State::looking;  // (4)
  if (get.state == State::looking)
    act(engine_action::Ask{get.round = next_round(), image_inspection(get.order.name.text()),
                           engine_patience});
}

void ImageMachine::looked(Get& get, const EngineOutcome& outcome) {
  if (outcome) return tell(get.order.user, read_image_id(outcome->body), true);
  const auto& why = outcome.error();
  // Somebody may have removed it, since it was pulled; an archive never had it, unless we did.
  const bool may_be_removed = !is_loaded(get.order) || get.removals != removals_;
  const bool is_gone = why.code == Errc::not_found && may_be_removed && get.tries < get_tries;
  if (is_away(why) || (get.was_fetched && !is_gone)) return tell(get.order.user, why, is_away(why));
  fetch(get);
}

void ImageMachine::fetch(Get& get) {
  get.was_fetched = true;
  get.removals = removals_;
  ++get.tries;
  const auto& order = get.order;
  if (is_loaded(order)) {
    get.state = State::loading;
    act(image_action::Load{get.round = next_round(), order.user});
  } else if (order.needs_auth) {
    get.state = State::finding_auth;
    act(image_action::FindAuth{get.round = next_round(), order.user});
  } else {
    pull(get, {});
  }
}

void ImageMachine::found_auth(Get& get, const Result<std::string>& auth) {
  const auto& order = get.order;
  const auto& repository = order.name.repository;
  if (auth) return pull(get, *auth);
  if (!order.auth_soft_fail)
    return tell(
        order.user,
        Error{auth.error().code, fmt::format("Failed to find docker auth for repo \"{}\": {}",
                                             repository, auth.error().what)},
        false);
  act(engine_action::LogWarning{.text = "the engine pulls without credentials",
                                .error = auth.error().what,
                                .image = repository});
  pull(get, {});
}

void ImageMachine::pull(Get& get, const std::string& auth) {
  get.state = State::pulling;
  const auto& order = get.order;
  act(image_action::TellUser{order.user, "Downloading image"});
  auto& pull = pulls_[order.name.text()];
  pull.users.insert(order.user);
  if (pull.round != 0) return;
  act(image_action::Pull{pull.round = next_round(), pull_of(order.name, auth), order.timeout});
  act(engine_action::Wait{pull.news_round = next_round(), news_interval});
}

void ImageMachine::pull_ended(const std::string& name, const EngineOutcome& outcome) {
  const auto users = pulls_.extract(name).mapped().users;
  for (const auto& user : users)
    if (outcome)
      look(gets_.at(user));
    else
      tell(user,
           Error{outcome.error().code,
                 fmt::format("Failed to pull `{}`: {}", name, outcome.error().what)},
           outcome.refusal.kind != EngineError::Kind::image_missing);
}

/// (1)
void ImageMachine::tell(const std::string& user, const Result<std::string>& id, bool may_pass) {
  const auto told = gets_.extract(user);
  const auto& name = told.mapped().order.user;
  if (id) keep(*id, name);
  act(image_action::TellReady{name, id, may_pass});
}

// -- keeping --------------------------------------------------------------------------------------

bool ImageMachine::is_any_removing() const {
  return std::ranges::any_of(
      kept_, [](const auto& entry) { return entry.second.keeping == Keeping::removing; });
}

void ImageMachine::keep(const std::string& id, const std::string& user) {
  auto& kept = kept_[id];
  kept.users.insert(user);
  kept.tries = 0;
  if (kept.keeping == Keeping::removing) return;  // A container of it is there: it will not go.
  kept.keeping = Keeping::used;
  kept.round = 0;
}

void ImageMachine::delay(Kept& kept, Nanoseconds pause) {
  if (!traits_.removes) return;
  kept.keeping = Keeping::delayed;
  act(engine_action::Wait{kept.round = next_round(), pause});
}

void ImageMachine::remove(const std::string& id, Kept& kept) {
  const bool somebody_looks = std::ranges::any_of(
      gets_, [](const auto& entry) { return entry.second.state == State::looking; });
  if (somebody_looks) return delay(kept, removal_pause);  // (4)
  kept.keeping = Keeping::removing;
  ++kept.tries;
  act(engine_action::Ask{kept.round = next_round(),
                         {.method = "DELETE", .target = "/images/" + percent_encode(id)},
                         engine_patience});
}

void ImageMachine::removed(const std::string& id, const EngineOutcome& outcome) {
  ++removals_;
  judge_removal(id, outcome);
  if (is_any_removing()) return;
  for (auto& [user, get] : gets_)
    if (get.state == State::held) look(get);
}

/// (3)
void ImageMachine::judge_removal(const std::string& id, const EngineOutcome& outcome) {
  auto& kept = kept_.at(id);
  kept.keeping = Keeping::used;
  if (!kept.users.empty()) return;
  const bool is_gone = outcome || outcome.error().code == Errc::not_found;
  // It had a user meanwhile, whose container may be what the engine has refused it for.
  if (!is_gone && kept.tries == 0) return delay(kept, traits_.removal_delay);
  const bool is_over = is_gone || outcome.error().code == Errc::conflict;
  if (!is_over && kept.tries < removal_tries) return delay(kept, removal_pause);
  if (!is_over)
    act(engine_action::LogWarning{
        .text = "the image can't be removed", .error = outcome.error().what, .image = id});
  kept_.erase(id);
}

}  // namespace nomad::docker
