// eq, ne, lt, le, gt and ge of Go's text/template.
#pragma once

#include <span>

#include "runtime/base/result.hpp"
#include "runtime/base/work.hpp"
#include "runtime/template/value/value.hpp"

namespace nomad::templates {

/// Whether `first` is one of the `others`.
Result<bool> is_equal(const Value& first, std::span<const Value> others, Work& work);

Result<bool> is_less(const Value& a, const Value& b, Work& work);

}  // namespace nomad::templates
