#include "actors/core/handle.hpp"

#include "actors/core/caf_bridge.hpp"

namespace nomad::actor {

Ref::Ref(caf::actor_control_block* at) : at_(at) {
  if (at_ != nullptr) caf::intrusive_ptr_add_ref(at_);
}

Ref::Ref(const Ref& other) : Ref(other.at_) {}

Ref::~Ref() {
  if (at_ != nullptr) caf::intrusive_ptr_release(at_);
}

Address Ref::address() const {
  return {at_ == nullptr ? 0 : at_->id()};
}

void Ref::tell(Mail mail, Priority priority) const {
  if (at_ != nullptr) actor_of(at_)->eq_impl(to_caf(priority), nullptr, nullptr, std::move(mail));
}

WeakRef::WeakRef(const Ref& ref) : at_(ref.get()) {
  if (at_ != nullptr) caf::intrusive_ptr_add_weak_ref(at_);
}

WeakRef::WeakRef(const WeakRef& other) : at_(other.at_) {
  if (at_ != nullptr) caf::intrusive_ptr_add_weak_ref(at_);
}

WeakRef::~WeakRef() {
  if (at_ != nullptr) caf::intrusive_ptr_release_weak(at_);
}

Ref WeakRef::lock() const {
  if (at_ == nullptr || !caf::intrusive_ptr_upgrade_weak(at_)) return {};
  Ref strong{at_};
  caf::intrusive_ptr_release(at_);  // `strong` has counted, too
  return strong;
}

}  // namespace nomad::actor
