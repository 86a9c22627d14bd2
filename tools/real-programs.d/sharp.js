// Makes five pictures and prints what they are as one hash.
const sharp = require("sharp");
const hash = require("crypto").createHash("sha1");
(async () => {
    for (let i = 0; i < 5; i++) {
        const background = { r: i * 20, g: 90, b: 10 };
        const picture = sharp({ create: { width: 400, height: 300, channels: 3, background } });
        hash.update(await picture.resize(200, 100 + i).blur(2).png().toBuffer());
    }
    console.log(hash.digest("hex"));
})();
