// Where bodies of requests are laid out that hold secrets: memory that is wiped when it is given
// back. Memory that was given back can be looked at by no test.
#pragma once

#include <memory>
#include <memory_resource>

namespace nomad::api {

std::unique_ptr<std::pmr::memory_resource> wiping_memory();

}  // namespace nomad::api
