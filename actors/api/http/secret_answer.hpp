// Answers that hold secrets: what they were made of is wiped when the last one lets go of it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "actors/api/http/answer.hpp"
#include "runtime/security/secret.hpp"

namespace nomad::api {

/// `text` should have been reserved: what it outgrew is not wiped.
inline Answer secret_answer(unsigned status, std::string text) {
  auto* kept = new std::string{std::move(text)};
  Answer answer{.status = status};
  answer.shared_body = {kept, [](std::string* done) {
                          security::wipe(*done);
                          delete done;
                        }};
  return answer;
}

}  // namespace nomad::api
