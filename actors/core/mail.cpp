#include "actors/core/mail.hpp"

namespace nomad::actor {

Mail::Mail(const Mail& other) : content_(other.content_) {
  if (content_ != nullptr) content_->references.fetch_add(1, std::memory_order_relaxed);
}

Mail::~Mail() {
  if (content_ != nullptr && content_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete content_;
}

const std::type_info& Mail::type() const {
  return content_ == nullptr ? typeid(void) : content_->type;
}

}  // namespace nomad::actor
