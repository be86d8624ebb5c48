#include "runtime/access/authorize.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

#include "runtime/access/judgement_record.hpp"

namespace nomad::access {
namespace {

std::size_t hash_of(const Target& target) {
  constexpr std::hash<std::string_view> hash;
  std::size_t value = 0;
  for (const auto part :
       {target.ns, target.path, target.node_pool, target.node, target.host_volume, target.plugin})
    value = value * 31 + hash(part);
  return value;
}

/// Two capabilities that together open what another one opens; one alone, where they are the same.
struct Alternative {
  Capability one;
  Capability other;
};

/// What else opens what `needed` opens, each way by itself.
std::span<const Alternative> alternatives(Capability needed) {
  using enum Capability;
  static constexpr std::array by_submission{Alternative{submit_job, submit_job}};
  static constexpr std::array by_reading{Alternative{read_job, read_job}};
  static constexpr std::array by_both{Alternative{list_jobs, read_job}};
  static constexpr std::array by_files{Alternative{read_fs, read_fs}};
  static constexpr std::array by_writing{
      Alternative{host_volume_mount_readwrite, host_volume_mount_readwrite}};
  static constexpr std::array by_volumes{Alternative{csi_read_volume, csi_read_volume},
                                         Alternative{csi_mount_volume, csi_mount_volume},
                                         Alternative{list_jobs, list_jobs}};
  static constexpr std::array by_use{Alternative{csi_mount_volume, csi_mount_volume},
                                     Alternative{read_job, read_job}};
  switch (needed) {
    case parse_job:
    case scale_job:
      return by_submission;
    case read_job_scaling:
      return by_reading;
    case list_scaling_policies:
    case read_scaling_policy:
      return by_both;
    case read_logs:
      return by_files;
    case host_volume_mount_readonly:
      return by_writing;
    case csi_list_volume:
      return by_volumes;
    case csi_read_volume:
      return by_use;
    default:
      return {};
  }
}

/// Whether `allow`, of rights or limits, gives the capability or what else opens the same.
template <class Allow>
bool opens(const Allow& allow, Capability needed) {
  if (allow(needed)) return true;
  return std::ranges::any_of(alternatives(needed), [&allow](const Alternative& each) {
    return allow(each.one) && allow(each.other);
  });
}

}  // namespace

Principal Principal::behind() const {
  auto user = std::make_shared<Caller>(*caller_);
  user->passed_on_by = std::exchange(user->peer, {});
  user->node = {};
  auto principal = *this;
  principal.caller_ = std::move(user);
  return principal;
}

Principal Principal::seen_by(std::shared_ptr<JudgementRecord> judged) const {
  auto principal = *this;
  principal.judged_ = std::move(judged);
  return principal;
}

std::string Principal::describe() const {
  if (is_cluster()) return "cluster:" + std::string{duty_};
  if (grant_ && !grant_->accessor.empty())
    return "token " + grant_->accessor + " of " + caller_->remote;
  return caller_->describe();
}

Allowed::Allowed(Capability capability, const Target& target, bool is_cluster)
    : capability_{capability}, is_cluster_{is_cluster}, target_{hash_of(target)} {}

bool Allowed::is_for(const Target& target) const {
  return is_cluster_ || target_ == hash_of(target);
}

const Error& permission_denied() {
  static const Error error{Errc::permission_denied, "Permission denied"};
  return error;
}

Result<Allowed> authorize(const Principal& who, Capability needed, const Target& target) {
  const bool is_open = who.is_cluster() || needed == Capability::none;
  const auto allowed_by = [&target](const auto& source) {
    return [&](Capability one) { return source.allow(one, target); };
  };
  const bool has_rights = is_open || (who.grant_ && opens(allowed_by(*who.grant_->rights), needed));
  const auto* const limits = who.limits();
  const bool is_allowed = has_rights && (limits == nullptr || opens(allowed_by(*limits), needed));
  if (who.judged_) who.judged_->note(needed, target, is_allowed);
  if (!has_rights) return permission_denied();
  if (!is_allowed) return Limits::refusal(needed, target);
  return Allowed{needed, target, who.is_cluster()};
}

bool is_manager(const Principal& who) {
  return who.grant_ && who.limits() == nullptr && !who.grant_->accessor.empty()
         && who.grant_->rights->form() == Rights::Form::everything;
}

Allowed own_work(std::string_view duty) {
  return authorize(Asking::of_cluster(duty), {}).value();
}

}  // namespace nomad::access
