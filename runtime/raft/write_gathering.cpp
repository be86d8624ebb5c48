#include "runtime/raft/write_gathering.hpp"

namespace nomad::raft {

void WriteGathering::begin(Time now) {
  if (!since_) since_ = now;
}

void WriteGathering::end(Time now) {
  if (!since_) return;
  takes_ = (3 * takes_ + (now - *since_)) / 4;
  since_.reset();
}

void WriteGathering::abandon() {
  since_.reset();
}

bool WriteGathering::holds_back(std::size_t voters) {
  holds_back_ = since_ && takes_ < worth_waiting && voters > 1;
  return holds_back_;
}

}  // namespace nomad::raft
