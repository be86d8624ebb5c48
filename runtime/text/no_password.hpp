// no_password: what OpenSSL is told that asks for the pass phrase of an encrypted PEM. Without a
// callback it asks whoever sits at the terminal, and waits.
#pragma once

namespace nomad {

inline int no_password(char*, int, int, void*) {
  return -1;
}

}  // namespace nomad
