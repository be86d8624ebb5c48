// Makes pictures of pages small: their colours are few, so a palette says them all.
import { deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const table = new Uint32Array(256).map((_, byte) => { let sum = byte; for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? 0xedb88320 ^ (sum >>> 1) : sum >>> 1; return sum; });

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  let sum = 0xffffffff;
  for (const byte of body) sum = table[(sum ^ byte) & 255] ^ (sum >>> 8);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE((sum ^ 0xffffffff) >>> 0, body.length + 4);
  return out;
}

/** Pixels of a picture as browsers make it: 8 bits, no interlace, three or four channels. */
function decode(png) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  const parts = [];
  for (let at = 8; at < png.length;) {
    const size = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + size));
    at += size + 12;
  }
  const raw = inflateSync(Buffer.concat(parts));
  const row = width * channels;
  const pixels = Buffer.alloc(row * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (row + 1)];
    for (let x = 0; x < row; x += 1) {
      const left = x >= channels ? pixels[y * row + x - channels] : 0;
      const up = y > 0 ? pixels[(y - 1) * row + x] : 0;
      const corner = x >= channels && y > 0 ? pixels[(y - 1) * row + x - channels] : 0;
      const guess = left + up - corner;
      const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
      const paeth = a <= b && a <= c ? left : b <= c ? up : corner;
      pixels[y * row + x] = raw[y * (row + 1) + 1 + x] + [0, left, up, (left + up) >> 1, paeth][filter];
    }
  }
  return { width, height, channels, pixels };
}

/** The same picture with at most `colors` colours, the most frequent ones; others are the nearest. */
export function withPalette(png, colors = 160) {
  const { width, height, channels, pixels } = decode(png);
  const count = new Map();
  const keys = new Uint32Array(width * height);
  for (let at = 0; at < keys.length; at += 1) {
    // Five bits of each are more than eyes see in the edges of letters.
    const key = ((pixels[at * channels] & 0xf8) << 16) | ((pixels[at * channels + 1] & 0xf8) << 8) | (pixels[at * channels + 2] & 0xf8);
    keys[at] = key;
    const seen = count.get(key);
    if (seen) { seen.count += 1; } else count.set(key, { count: 1, color: [pixels[at * channels], pixels[at * channels + 1], pixels[at * channels + 2]] });
  }
  const palette = [...count].sort(([, a], [, b]) => b.count - a.count).slice(0, colors).map(([, one]) => one.color);
  const nearest = new Map([...count].map(([key, { color }]) => {
    let best = 0;
    let least = Infinity;
    palette.forEach((one, at) => {
      const far = one.reduce((sum, channel, which) => sum + (channel - color[which]) ** 2, 0);
      if (far < least) { least = far; best = at; }
    });
    return [key, best];
  }));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = nearest.get(keys[y * width + x]);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("PLTE", Buffer.from(palette.flat())), chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0))]);
}
