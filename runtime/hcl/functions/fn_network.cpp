// Arithmetic on IP networks.
#include <algorithm>
#include <array>

#include <arpa/inet.h>

#include <fmt/format.h>

#include "runtime/base/ip_network.hpp"
#include "runtime/hcl/functions/function_family.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;
__extension__ using U128 = unsigned __int128;

/// A prefix of `length` bits of an address of `bits` (32 or 128) bits; bits behind it are zero.
struct Network {
  U128 address = 0;
  int length = 0;
  int bits = 32;

  std::string to_string() const;
};

U128 low_bits(int count) {
  return count >= 128 ? ~U128{0} : (U128{1} << count) - 1;
}

std::string dotted(std::uint32_t address) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += std::to_string(address >> static_cast<unsigned>(shift) & 0xFFU) + (shift > 0 ? "." : "");
  return out;
}

/// RFC 5952, without dots.
std::string grouped(U128 address) {
  std::array<unsigned char, sizeof(U128)> bytes{};
  for (std::size_t i = bytes.size(); i > 0; address >>= 8)
    bytes[--i] = static_cast<unsigned char>(address);
  // What the system shows with dots ends with two groups behind six that are zero.
  const auto group = [&](std::size_t i) { return bytes[2 * i] << 8U | bytes[2 * i + 1]; };
  if (group(6) != 0
      && std::all_of(bytes.begin(), bytes.begin() + 12, [](auto b) { return b == 0; }))
    return fmt::format("::{:x}:{:x}", group(6), group(7));
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
}

std::string address_text(U128 address, int bits) {
  if (bits == 32 || address >> 32 == 0xFFFF)  // also an IPv4 address in IPv6 clothes
    return dotted(static_cast<std::uint32_t>(address));
  return grouped(address);
}

std::string Network::to_string() const {
  return address_text(address, bits) + "/" + std::to_string(length);
}

std::optional<Network> parse_network(std::string_view text) {
  const auto given = parse_ip_network(text);
  if (!given) return std::nullopt;
  Network out{.length = static_cast<int>(given->prefix),
              .bits = static_cast<int>(8 * given->bytes.size())};
  for (const char byte : given->bytes)
    out.address = out.address << 8 | static_cast<unsigned char>(byte);
  out.address &= ~low_bits(out.bits - out.length);
  return out;
}

std::string invalid_network(std::string_view text) {
  return "invalid CIDR expression: invalid CIDR address: " + std::string{text};
}

FunctionResult cidrhost(Args args) {
  const std::int64_t host = NOMAD_TRY(to_int(args[1]));
  const auto network = parse_network(args[0].as_string());
  if (!network) return fail(invalid_network(args[0].as_string()));
  const U128 highest = low_bits(network->bits - network->length);
  const U128 distance = host < 0 ? U128{static_cast<std::uint64_t>(-(host + 1))}
                                 : U128{static_cast<std::uint64_t>(host)};
  if (distance > highest)
    return fail("prefix of " + std::to_string(network->length)
                + " does not accommodate a host numbered " + std::to_string(host));
  return text(
      address_text(network->address | (host < 0 ? highest - distance : distance), network->bits));
}

FunctionResult cidrnetmask(Args args) {
  const auto network = parse_network(args[0].as_string());
  if (!network) return fail(invalid_network(args[0].as_string()));
  const U128 mask = low_bits(network->bits) & ~low_bits(network->bits - network->length);
  return text(network->bits == 32 ? dotted(static_cast<std::uint32_t>(mask)) : grouped(mask));
}

FunctionResult cidrsubnet(Args args) {
  const std::int64_t bits = NOMAD_TRY(to_int(args[1]));
  const std::int64_t number = NOMAD_TRY(to_int(args[2]));
  const auto network = parse_network(args[0].as_string());
  if (!network) return fail(invalid_network(args[0].as_string()));
  if (bits > 32) return fail("may not extend prefix by more than 32 bits");
  if (bits < 0) return fail("must extend prefix by at least one bit");
  if (network->length + bits > network->bits)
    return fail("insufficient address space to extend prefix of " + std::to_string(network->length)
                + " by " + std::to_string(bits));
  if (number < 0
      || static_cast<std::uint64_t>(number)
             > static_cast<std::uint64_t>(low_bits(static_cast<int>(bits))))
    return fail("prefix extension of " + std::to_string(bits)
                + " does not accommodate a subnet numbered " + std::to_string(number));
  Network out = *network;
  out.length += static_cast<int>(bits);
  if (out.length > 0)
    out.address |= U128{static_cast<std::uint64_t>(number)} << (out.bits - out.length);
  return text(out.to_string());
}

/// Lays subnets of the wanted lengths one behind the other into `network`.
FunctionResult cidrsubnets(Args args) {
  const auto network = parse_network(args[0].as_string());
  if (!network) return fail_at(0, invalid_network(args[0].as_string()));
  Value::Elements out;
  const U128 end = network->address | low_bits(network->bits - network->length);
  U128 next = network->address;  // the first address not taken
  bool full = false;
  std::string previous;
  for (std::size_t i = 1; i < args.size(); ++i) {
    const std::int64_t extra = NOMAD_TRY(to_int(args[i], i));
    if (extra < 1) return fail_at(i, "must extend prefix by at least one bit");
    if (extra > 32) return fail_at(i, "may not extend prefix by more than 32 bits");
    Network subnet = *network;
    subnet.length += static_cast<int>(extra);
    if (subnet.length > subnet.bits)
      return fail_at(i, "would extend prefix to " + std::to_string(subnet.length)
                            + " bits, which is too long for an "
                            + (subnet.bits == 32 ? "IPv4" : "IPv6") + " address");
    const U128 size = low_bits(subnet.bits - subnet.length);
    subnet.address = (next + size) & ~size;
    if (full || subnet.address < next || subnet.address > end)
      return fail_at(i, "not enough remaining address space for a subnet with a prefix of "
                            + std::to_string(subnet.length) + " bits after " + previous);
    next = subnet.address + size + 1;
    full = next == 0 || (network->bits == 32 && next > low_bits(32));
    previous = subnet.to_string();
    out.push_back(Value::string(previous));
  }
  return Value::list(Type::string(), std::move(out));
}

}  // namespace

void add_network_functions(std::vector<Function>& out) {
  const Type string = Type::string();
  const Type number = Type::number();
  out.push_back({"cidrhost", {{"prefix", string}, {"hostnum", number}}, std::nullopt, cidrhost});
  out.push_back({"cidrnetmask", {{"prefix", string}}, std::nullopt, cidrnetmask});
  out.push_back({"cidrsubnet",
                 {{"prefix", string}, {"newbits", number}, {"netnum", number}},
                 std::nullopt,
                 cidrsubnet});
  out.push_back({"cidrsubnets", {{"prefix", string}}, Parameter{"newbits", number}, cidrsubnets});
}

}  // namespace nomad::hcl
