#include "runtime/keyring/keyring_machine.hpp"

#include <algorithm>

namespace nomad::keyring {
namespace {

using namespace keyring_action;

constexpr unsigned ticks_of_followers = 3;

}  // namespace

void KeyringMachine::Pace::fail(Time now) {
  pause = std::min(pause * 2, longest_pause);
  next = now + pause;
}

void KeyringMachine::tick() {
  if (writing_ != 0) return;
  if (!leads_ && ticks_as_follower_++ % ticks_of_followers != 0) return;
  actions_.emplace_back(Look{});
}

void KeyringMachine::lead(bool leads) {
  leads_ = leads;
  if (!leads) return;
  if (!making_.is_under_way) making_ = {};
  std::erase_if(wrapping_, [](const auto& one) { return !one.second.is_under_way; });
  if (writing_ == 0) actions_.emplace_back(Look{});
}

void KeyringMachine::look(const KeyringFacts& facts, Time now) {
  if (!facts.is_known) {
    if (facts.may_register) actions_.emplace_back(Register{});
    return;
  }
  if (leads_) make_keys(facts, now);
  share_keys(facts, now);
}

void KeyringMachine::make_keys(const KeyringFacts& facts, Time now) {
  if (!facts.needs_key && !facts.needs_next_key) {
    if (!making_.is_under_way) making_ = {};
    return;
  }
  if (!making_.is_due(now)) return;
  making_.is_under_way = true;
  actions_.emplace_back(MakeKey{.is_published = !facts.needs_key});
}

void KeyringMachine::share_keys(const KeyringFacts& facts, Time now) {
  std::erase_if(wrapping_, [&facts](const auto& one) {
    return std::none_of(facts.keys.begin(), facts.keys.end(), [&one](const KeyFacts& key) {
      return key.id == one.first && key.lacks_key;
    });
  });
  Share share;
  for (const auto& key : facts.keys) {
    if (!key.is_open) continue;
    if (leads_ && key.lacks_key && wrapping_[key.id].is_due(now)) {
      wrapping_[key.id].is_under_way = true;
      actions_.emplace_back(Wrap{key.id});
    } else if (key.lacks_wraps) {
      share.key_ids.push_back(key.id);
    }
  }
  actions_.emplace_back(std::move(share));
}

void KeyringMachine::shared() {
  if (leads_ && writing_ == 0) actions_.emplace_back(DoDuties{});
}

void KeyringMachine::written(bool is_done, const Subject& of, Time now) {
  --writing_;
  if (is_done) {
    if (writing_ == 0) actions_.emplace_back(Look{});
    return;
  }
  if (of.is_new_key) making_.fail(now);
  if (!of.wrapped_key.empty()) wrapping_[of.wrapped_key].fail(now);
}

void KeyringMachine::made(bool is_made, Time now) {
  making_.is_under_way = false;
  if (!is_made) making_.fail(now);
}

void KeyringMachine::wrapped(const std::string& key_id, bool is_wrapped, Time now) {
  auto& tried = wrapping_[key_id];
  tried.is_under_way = false;
  if (!is_wrapped) tried.fail(now);
}

}  // namespace nomad::keyring
