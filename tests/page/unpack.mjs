import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
const [from, to] = process.argv.slice(2);
for (const name of ["chromium", "al2023.tar", "fonts.tar", "swiftshader.tar"])
  await pipeline(createReadStream(`${from}/${name}.br`), createBrotliDecompress(), createWriteStream(`${to}/${name}`, { mode: 0o755 }));
