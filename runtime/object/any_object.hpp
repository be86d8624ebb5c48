// AnyObject: an object of a kind that whoever passes it on does not know. Made of an `Object` it
// refers to the same block, and gives that back unchecked; made of bytes that came from elsewhere
// it is checked when it is read, as one of the kind that the reader expects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/base/bytes.hpp"
#include "runtime/object/object.hpp"

namespace nomad {

class AnyObject {
public:
  template <class T>
  AnyObject(Object<T> object)  // NOLINT(google-explicit-constructor): a row of a list
      : kind_{capnp::typeId<T>()}, bytes_{share(std::move(object))} {}

  /// Bytes that were received. They stay shared until the object is read.
  static AnyObject from_elsewhere(Bytes bytes) { return AnyObject{std::move(bytes)}; }

  /// `corrupt` when it is no `T`: its bytes are none, or it was made of an object of another kind.
  template <class T>
  Result<Object<T>> as() const {
    if (kind_ == 0) return Object<T>::from_bytes(bytes_.view());
    if (kind_ != capnp::typeId<T>())
      return Error{Errc::corrupt, "an object of another kind than was expected"};
    return *static_cast<const Object<T>*>(owner_.get());
  }

  std::span<const std::byte> bytes() const { return bytes_.view(); }

private:
  explicit AnyObject(Bytes bytes) : bytes_{std::move(bytes)} {}

  template <class T>
  Bytes share(Object<T> object) {
    auto owner = std::make_shared<const Object<T>>(std::move(object));
    const auto view = owner->bytes();
    owner_ = owner;
    return {std::move(owner), view};
  }

  std::uint64_t kind_ = 0;             ///< 0: of bytes from elsewhere.
  std::shared_ptr<const void> owner_;  ///< The Object, if it was made of one.
  Bytes bytes_;
};

}  // namespace nomad
