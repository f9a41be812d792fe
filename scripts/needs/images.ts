/** What the images of the runner contain for the commands of skills: the targets of container/Dockerfile. */
import { IMAGES } from "../../src/skill/workspace-settings.ts";
import type { Need } from "./needs.ts";

type Image = (typeof IMAGES)[number];

interface Contents {
  command: readonly string[];
  /** Names of modules, as in an import. */
  python: readonly string[];
  node: readonly string[];
}

const words = (...lines: string[]): string[] => lines.join(" ").split(" ");

/** What each target has in addition to the one before it. */
const ADDED: { [image in Image]: Contents } = {
  slim: {
    // Programs of Debian's base that need no mention, and those of every image.
    command: words(
      "bash sh python3 python pip pip3 node npm npx corepack perl tar gzip awk mawk sed grep egrep find",
      "xargs diff cmp apt apt-get dpkg getopt flock lscpu mount setsid",
    ),
    python: [],
    node: [],
  },
  office: {
    command: words(
      "soffice libreoffice pandoc qpdf tesseract git curl jq zip unzip file pdftotext pdftoppm pdftocairo",
      "pdfimages pdfinfo pdfunite pdfseparate pdffonts pdfdetach pdfattach pdftohtml markitdown fc-list",
      "pdfplumber wget openssl rg sqlite3 bc make ps pgrep pkill top free watch vmstat uv uvx httpx",
    ),
    python: words(
      "pypdf pdfplumber reportlab openpyxl docx pptx pandas PIL markitdown pdf2image pytesseract yaml",
      "matplotlib httpx pydantic dotenv",
      // Dependencies of these.
      "numpy lxml pdfminer pypdfium2 dateutil requests bs4 defusedxml",
    ),
    node: ["docx", "pptxgenjs"],
  },
  browser: { command: ["playwright"], python: ["playwright"], node: [] },
};

/** The smallest image that contains it; `null`: none does. */
export function imageWith({ kind, name }: Need): Image | null {
  return IMAGES.find((image) => ADDED[image][kind].includes(name)) ?? null;
}

/** The smallest image that contains all of them; `null`: none does. */
export function imageWithAll(needs: readonly Need[]): Image | null {
  return IMAGES.find((image) => needs.every((need) => imageHas(image, need))) ?? null;
}

/** Whether an image contains it. */
export function imageHas(image: Image, need: Need): boolean {
  const smallest = imageWith(need);
  return smallest !== null && IMAGES.indexOf(smallest) <= IMAGES.indexOf(image);
}
